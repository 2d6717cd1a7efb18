---@brief
---
--- https://github.com/nginxopt/nginxopt
---
--- Finds what makes an nginx configuration slow or wrong, and fixes it. Install it with
--- `pipx install 'nginxopt[lsp]'`.

---@type vim.lsp.Config
return {
  cmd = { 'nginxopt', 'lsp' },
  filetypes = { 'nginx' },
  root_markers = { 'nginxopt.toml', 'nginx.conf', '.git' },
}
