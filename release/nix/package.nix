{
  lib,
  python3Packages,
  fetchPypi,
  rustPlatform,
  cargo,
  rustc,
}:

python3Packages.buildPythonApplication (finalAttrs: {
  pname = "nginxopt";
  version = "0.1.0";
  pyproject = true;

  src = fetchPypi {
    inherit (finalAttrs) pname version;
    hash = "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  };

  cargoRoot = "rust";

  cargoDeps = rustPlatform.fetchCargoVendor {
    inherit (finalAttrs) pname version src cargoRoot;
    hash = lib.fakeHash; # the first build states it
  };

  build-system = with python3Packages; [
    setuptools
    setuptools-rust
  ];

  nativeBuildInputs = [
    rustPlatform.cargoSetupHook
    cargo
    rustc
  ];

  dependencies = with python3Packages; [
    click
    crossplane
    jinja2
  ];

  pythonImportsCheck = [
    "nginxopt"
    "nginxopt._native"
  ];

  meta = {
    description = "Linter and optimizer of nginx configurations, with proofs";
    homepage = "https://github.com/nginxopt/nginxopt";
    changelog = "https://github.com/nginxopt/nginxopt/releases/tag/v${finalAttrs.version}";
    license = lib.licenses.asl20;
    maintainers = [ ];
    mainProgram = "nginxopt";
    platforms = lib.platforms.linux;
  };
})
