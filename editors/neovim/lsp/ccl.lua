-- The language server, for `vim.lsp.enable('ccl')` of Neovim 0.11 and later.
local ccl = require('ccl')

return {
  cmd = { 'ccl-lsp', '--stdio' },
  filetypes = { 'ccl' },
  root_markers = { '.git' },
  settings = { ccl = {} },
  capabilities = ccl.capabilities,
  commands = ccl.commands,
}
