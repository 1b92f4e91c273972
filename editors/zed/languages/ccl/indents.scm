(_ "{" "}" @end) @indent
(_ "[" "]" @end) @indent
(_ "(" ")" @end) @indent
[(transfer) (synchronise) (let) (function) (require) (channel)] @indent
