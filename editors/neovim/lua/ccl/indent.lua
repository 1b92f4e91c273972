-- How far lines are indented: as `cclc fmt` does it, by the brackets around a line and by whether it continues the one before.
local M = {}

local CLOSING = { [')'] = true, [']'] = true, ['}'] = true }
local OPENING = { ['('] = true, ['['] = true, ['{'] = true }
-- What a line ends with that the next one does not continue.
local ENDING = { [';'] = true, ['{'] = true, ['}'] = true, ['['] = true, ['('] = true }

-- The brackets that are open, and what the code so far ends with.
local function new_state()
  return { open = {}, last = nil, is_attribute = false }
end

-- Reads the code of a line. `visit`, if it is given, is called with the column of each character, and stops where it says so.
local function read(state, line, number, visit)
  local quoted, column = false, 1
  while column <= #line do
    local char = line:sub(column, column)
    if quoted then
      if char == '\\' then
        column = column + 1
      elseif char == '"' then
        quoted, state.last = false, char
      end
    elseif line:sub(column, column + 1) == '//' then
      return
    elseif char == '"' then
      quoted = true
    elseif not char:match('%s') then
      if visit and visit(char, column) then
        return
      end
      if OPENING[char] then
        local is_body = char == '{' and (state.last or ''):match('[%w_%)%]}]') ~= nil
        table.insert(state.open, { line = number, is_body = is_body, is_attribute = char == '[' and state.last == '#' })
      elseif CLOSING[char] then
        local closed = table.remove(state.open)
        state.is_attribute = char == ']' and closed ~= nil and closed.is_attribute
      end
      state.last = char
    end
    column = column + 1
  end
end

local function continues(state, text)
  if ENDING[state.last] or state.last == nil or text == '' or text:match('^//') or CLOSING[text:sub(1, 1)] then
    return false
  end
  if state.last == ']' then
    return not state.is_attribute
  end
  -- In a list, what comes after its binders, and their conditions, are not deeper than they are.
  if state.last == ',' or state.last == ':' or text:match('^if%f[^%w_]') then
    local around = state.open[#state.open]
    return around == nil or around.is_body
  end
  return true
end

-- Whether the statement of a line goes on with a body.
local function is_before_body(state, lines, number)
  local depth, body = #state.open, nil
  for at = number, #lines do
    read(state, lines[at], at, function(char, column)
      if #state.open == depth and (char == ';' or char == '{' or char == '}') then
        body = char == '{' and lines[at]:sub(column + 1):match('^%s*$') ~= nil
        return true
      end
    end)
    if body ~= nil then
      return body
    end
  end
  return false
end

-- The columns by which a line of this buffer is indented.
function M.columns(number)
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  local state = new_state()
  for at = 1, number - 1 do
    read(state, lines[at], at)
  end
  local text = lines[number]:match('^%s*(.*)$')
  local deeper = 0
  if continues(state, text) then
    deeper = is_before_body(vim.deepcopy(state), lines, number) and 2 or 1
  end
  for _ = 1, #text:match('^[%)%]}]*') do
    table.remove(state.open)
  end
  local depth, line = 0, nil
  for _, bracket in ipairs(state.open) do
    if bracket.line ~= line then
      depth, line = depth + 1, bracket.line
    end
  end
  return (depth + deeper) * vim.fn.shiftwidth()
end

return M
