class Nginxopt < Formula
  include Language::Python::Virtualenv

  desc "Linter and optimizer of nginx configurations, with proofs"
  homepage "https://github.com/nginxopt/nginxopt"
  url "https://files.pythonhosted.org/packages/source/n/nginxopt/nginxopt-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"
  head "https://github.com/nginxopt/nginxopt.git", branch: "main"

  depends_on "rust" => :build
  depends_on "python@3.14"

  resource "click" do
    url "https://files.pythonhosted.org/packages/source/c/click/click-8.5.1.tar.gz"
    sha256 "9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4"
  end

  resource "crossplane" do
    url "https://files.pythonhosted.org/packages/source/c/crossplane/crossplane-0.5.8.tar.gz"
    sha256 "b193bd8b963a041d5414ea18dcbb1c55b5424fee3d73bfa1809124605b322101"
  end

  resource "jinja2" do
    url "https://files.pythonhosted.org/packages/source/j/jinja2/jinja2-3.1.6.tar.gz"
    sha256 "0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d"
  end

  resource "markupsafe" do
    url "https://files.pythonhosted.org/packages/source/m/markupsafe/markupsafe-3.0.4.tar.gz"
    sha256 "2e9ad7dd851bf45fab9f75cbff4cb493fee9979e8d8c7c9c3ee119022518edd6"
  end

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"nginxopt", shell_parameter_format: :click)
  end

  test do
    (testpath/"nginx.conf").write <<~EOS
      events {}
      http {
          gzip on;
          gzip_comp_level 9;
      }
    EOS
    assert_match "gzip-level", shell_output("#{bin}/nginxopt lint --isolated nginx.conf", 1)
    assert_match version.to_s, shell_output("#{bin}/nginxopt --version")
  end
end
