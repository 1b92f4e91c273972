-- The language server, for `vim.lsp.enable('ccl')` of Neovim 0.11 and later.
return {
  cmd = { 'ccl-lsp', '--stdio' },
  filetypes = { 'ccl' },
  root_markers = { '.git' },
  settings = { ccl = {} },
}
