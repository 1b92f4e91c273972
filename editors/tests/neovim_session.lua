-- A session in Neovim, from 0.7 on, with the plugin of this repository. What was seen is written to $CCL_OUT as JSON.
local seen = { version = tostring(vim.version().major) .. '.' .. tostring(vim.version().minor) }

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    error('not in time: ' .. what)
  end
end

local function reports()
  return vim.tbl_map(function(report)
    return { line = report.lnum, column = report.col, code = report.code or (report.user_data or {}).code, message = report.message }
  end, vim.diagnostic.get(0))
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 10000)
  for _, answer in pairs(answers or {}) do
    if answer.error then
      error(method .. ': ' .. answer.error.message)
    end
    return answer.result
  end
end

local function cursor(pattern)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  assert(vim.fn.search(pattern, 'c') > 0, pattern)
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') .. '\n'
end

local function type_keys(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

local function session()
  vim.cmd('filetype plugin on | syntax on | set hidden')
  require('ccl').setup({ cmd = { vim.env.CCL_LSP, '--stdio' } })

  vim.cmd('edit race.ccl')
  seen.filetype = vim.bo.filetype
  seen.commentstring = vim.bo.commentstring
  wait('a race', function()
    return #vim.diagnostic.get(0) > 0
  end)
  seen.race = reports()
  cursor('put output')
  local name = vim.fn.synIDattr(vim.fn.synID(vim.fn.line('.'), vim.fn.col('.'), 1), 'name')
  seen.syntax = name

  vim.cmd('new | setlocal buftype=nofile syntax=ccl')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'topology t(r: rate) { link 0 -> 1, bandwidth = 1.5GBps, abilities = [port]; }' })
  seen.topology = {}
  for _, word in ipairs({ 'link', 'rate', 'bandwidth', '1\\.5GBps', 'port' }) do
    cursor(word)
    table.insert(seen.topology, vim.fn.synIDattr(vim.fn.synID(vim.fn.line('.'), vim.fn.col('.'), 1), 'name'))
  end
  vim.cmd('bwipeout!')

  -- Typed letter by letter, and taken back.
  cursor('output\\[rank\\] -> p')
  type_keys('cwinput<Esc>f[ci[0<Esc>')
  wait('no race', function()
    return #vim.diagnostic.get(0) == 0
  end)
  seen.typed = text()
  vim.cmd('undo | undo')
  wait('the race again', function()
    return #vim.diagnostic.get(0) > 0
  end)

  vim.cmd('edit typo.ccl')
  wait('a typo', function()
    return #vim.diagnostic.get(0) > 0
  end)
  seen.typo = reports()
  cursor('inptu')
  local params = vim.lsp.util.make_range_params()
  params.context = { diagnostics = (vim.lsp.diagnostic.get_line_diagnostics or function()
    return {}
  end)() }
  local client = vim.tbl_values(vim.lsp.buf_get_clients(0))[1]
  for _, action in ipairs(ask('textDocument/codeAction', params) or {}) do
    if action.kind == 'quickfix' and action.edit then
      vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
      break
    end
  end
  seen.mended = text()
  wait('no typo', function()
    return #vim.diagnostic.get(0) == 0
  end)

  vim.cmd('edit gather.ccl')
  cursor('meet(mem)')
  vim.lsp.buf.definition()
  wait('a definition', function()
    return vim.api.nvim_win_get_cursor(0)[1] < 10 and vim.fn.line('.') > 1
  end)
  seen.definition = vim.api.nvim_get_current_line()
  vim.lsp.buf.rename('handshake')
  wait('a rename', function()
    return text():find('handshake%(mem%)')
  end)
  seen.renamed = text()
  cursor('handshake(mem)')
  type_keys('0d3l')
  if vim.lsp.buf.formatting_sync then
    vim.lsp.buf.formatting_sync(nil, 10000)
  else
    vim.lsp.buf.format({ timeout_ms = 10000 })
  end
  seen.formatted = text()
  seen.pid = client.rpc.pid

  -- Commands that the server carries out, and lenses, which name commands of the plugin.
  local said = {}
  vim.notify = function(message)
    table.insert(said, message)
  end
  local function answer()
    wait('an answer to a command', function()
      return #said > 0
    end)
    return table.remove(said, 1)
  end
  vim.cmd('CclBuild')
  seen.built = answer()
  vim.cmd('CclRun gather')
  seen.verdict = answer()
  vim.cmd('CclRun other')
  seen.refused = answer()
  local lenses = ask('textDocument/codeLens', { textDocument = vim.lsp.util.make_text_document_params() })
  seen.lenses = vim.tbl_map(function(lens)
    return lens.command.command
  end, lenses)
  for _, lens in ipairs(lenses) do
    if lens.command.command == 'ccl.run' then
      client.commands['ccl.run'](lens.command)
      seen.run_by_lens = answer()
    end
  end
  -- What a command shows in a window of its own.
  local function shown(command)
    vim.cmd(command)
    wait('what `' .. command .. '` shows', function()
      return vim.bo.buftype == 'nofile'
    end)
    local lines = text()
    vim.cmd('close')
    return lines
  end
  seen.page = shown('CclExplain E0501')
  seen.elaborated = shown('CclElaborate')

  cursor('let next = \\zsafter')
  local hover
  wait('a hover', function()
    hover = ask('textDocument/hover', vim.lsp.util.make_position_params())
    return hover ~= nil and hover ~= vim.NIL
  end)
  seen.hover = hover.contents.value or vim.inspect(hover.contents)
end

local done, problem = pcall(session)
seen.problem = not done and tostring(problem) or nil
local out = assert(io.open(vim.env.CCL_OUT, 'w'))
out:write((vim.json or vim.fn).encode and vim.json.encode(seen) or vim.fn.json_encode(seen))
out:close()
vim.cmd('qall!')
