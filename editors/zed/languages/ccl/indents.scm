(_ "{" "}" @end) @indent
(_ "[" "]" @end) @indent
(_ "(" ")" @end) @indent
[(transfer) (synchronise) (let) (function) (require) (channel) (machine) (rank_count) (link) (ports) (property)] @indent
