-- The language server for Neovim 0.7 and later: `require('ccl').setup()`.
--
-- Options: `cmd`, the server's command line; `settings`, such as `{ parameters = { ranks = 16 } }`; `on_attach`, called with
-- the client and the buffer.
local M = {}

local clients = {}

-- The commands of lenses, which the server sends to clients that say that they run them.
M.capabilities = {
  experimental = { commands = { commands = { 'ccl.showElaborated', 'ccl.buildPlan', 'ccl.run' } } },
}

local function say(text)
  vim.notify('ccl: ' .. text, vim.log.levels.INFO)
end

-- Sends a request about a buffer to its server; `done` is called with the result, unless there is an error, which is shown.
local function request(buffer, method, params, done)
  local asked = vim.lsp.buf_request(buffer, method, params, function(error, result)
    if error then
      vim.notify('ccl: ' .. error.message, vim.log.levels.ERROR)
    elseif result ~= nil and result ~= vim.NIL then
      done(result)
    end
  end)
  if vim.tbl_isempty(asked or {}) then
    vim.notify('ccl: the language server does not run for this file', vim.log.levels.ERROR)
  end
end

local function execute(buffer, command, arguments, done)
  request(buffer, 'workspace/executeCommand', { command = command, arguments = arguments }, done)
end

-- Opens a text that is no file in a window of its own.
local function show(syntax, text)
  vim.cmd('new')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, '\n'))
  vim.bo.buftype = 'nofile'
  vim.bo.bufhidden = 'wipe'
  vim.bo.swapfile = false
  vim.bo.modifiable = false
  vim.bo.syntax = syntax
end

-- The program that a command is meant for: the one that is named, or else the one at the cursor.
local function find_program(name)
  if name and name ~= '' then
    return name
  end
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  local cursor, found = vim.api.nvim_win_get_cursor(0)[1], nil
  for number, line in ipairs(lines) do
    local program = line:match('^%s*program%s+([%w_]+)')
    if program and (number <= cursor or not found) then
      found = program
    end
  end
  return found
end

-- Builds the plan of a program, and says where it is.
function M.build(name)
  execute(0, 'ccl-lsp.build', { vim.uri_from_bufnr(0), find_program(name) }, function(built)
    say('built ' .. vim.fn.fnamemodify(built.path, ':.'))
  end)
end

-- Runs a program, and shows the verdict.
function M.run(name)
  execute(0, 'ccl-lsp.run', { vim.uri_from_bufnr(0), find_program(name) }, function(verdict)
    say(verdict.text)
  end)
end

-- Shows the page of a code: the one that is named, or else that of the report at the cursor.
function M.explain(code)
  if code == '' then
    local line = vim.api.nvim_win_get_cursor(0)[1] - 1
    for _, report in ipairs(vim.diagnostic.get(0, { lnum = line })) do
      local lsp = (report.user_data or {}).lsp or {}
      code = report.code or lsp.code or ''
    end
  end
  if code == '' then
    return say('there is no report on this line; name a code, as in `:CclExplain E0501`')
  end
  execute(0, 'ccl-lsp.explain', { code }, function(page)
    show('markdown', page)
  end)
end

-- Shows what a program does on every rank.
function M.elaborate(name)
  local about = { textDocument = { uri = vim.uri_from_bufnr(0) }, program = find_program(name) }
  request(0, 'ccl/elaborated', about, function(elaborated)
    show('ccl', elaborated.text)
  end)
end

-- What lenses do: each has the URL of its file, which is open, and the name of its program.
M.commands = {
  ['ccl.showElaborated'] = function(command)
    M.elaborate(command.arguments[2])
  end,
  ['ccl.buildPlan'] = function(command)
    M.build(command.arguments[2])
  end,
  ['ccl.run'] = function(command)
    M.run(command.arguments[2])
  end,
}

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
    capabilities = vim.tbl_deep_extend(
      'force',
      options.capabilities or vim.lsp.protocol.make_client_capabilities(),
      M.capabilities
    ),
    commands = M.commands,
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
