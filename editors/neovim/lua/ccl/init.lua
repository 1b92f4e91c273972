-- The language server for Neovim 0.7 and later: `require('ccl').setup()`.
--
-- Options: `cmd`, the server's command line; `settings`, such as `{ parameters = { ranks = 16 } }`; `on_attach`, called with
-- the client and the buffer.
local M = {}

local clients = {}

-- The folder in which a file's imports must be: that of the repository, or else the file's own.
local function root_of(buffer)
  local folder = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':p:h')
  local found = vim.fn.finddir('.git', folder .. ';')
  return found == '' and folder or vim.fn.fnamemodify(found, ':p:h:h')
end

local function config(options, root)
  return {
    name = 'ccl',
    cmd = options.cmd or { 'ccl-lsp', '--stdio' },
    root_dir = root,
    init_options = options.settings or {},
    settings = { ccl = options.settings or {} },
    capabilities = options.capabilities or vim.lsp.protocol.make_client_capabilities(),
    on_attach = options.on_attach,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    on_exit = function()
      clients[root] = nil
    end,
  }
end

-- Attaches a buffer to its server; there is one server for each folder.
function M.attach(buffer, options)
  local root = root_of(buffer)
  if vim.lsp.start then
    return vim.lsp.start(config(options or {}, root), { bufnr = buffer })
  end
  clients[root] = clients[root] or vim.lsp.start_client(config(options or {}, root))
  if clients[root] then
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
  return clients[root]
end

-- Starts attaching buffers of ccl files to servers.
function M.setup(options)
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('ccl', { clear = true }),
    pattern = 'ccl',
    callback = function(event)
      M.attach(event.buf, options)
    end,
  })
end

return M
