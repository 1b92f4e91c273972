" Colors for ccl files, where there is no tree-sitter parser.
if exists('b:current_syntax')
  finish
endif

syntax match cclName '\<[A-Za-z_][A-Za-z0-9_]*\>'
syntax match cclCall '\<[A-Za-z_][A-Za-z0-9_]*\ze('
syntax keyword cclDeclaration use let fn proc collective program options require scratch channel semaphore block group
syntax keyword cclDeclaration pipeline topology link
syntax keyword cclControl for in if else as via relaxed
syntax keyword cclConstant true false
syntax keyword cclFuture flow synthesize
syntax keyword cclClause input output in_place ensures op to std unit slice of chunks ports on without
syntax keyword cclClause bandwidth latency
syntax match cclClause '\<switch\ze\s\+[A-Za-z_]'
syntax keyword cclBuiltin rank ranks peers node nodes local_rank ranks_per_node node_peers rail_peers
syntax match cclType '\(\(:\|->\)\s*\)\@<=\(int\|bool\|rank\|rate\|time\|chunk\|buffer\|channel\|semaphore\|block\)\>'
syntax match cclFunction '\<\(rank_at\|min\|max\|abs\|sum\|all\|any\|begun\|same\|memory\|port\|switch\)\ze\s*('
syntax match cclMethod '\.\zs\(len\|position\|contains\|step\|rev\)\ze\s*('
syntax match cclOption
      \ '\<\(name\|protocol\|threads\|instances\|replication\|message_size\|alignment\|double_scratch\)\ze\s*=[^=]'
syntax match cclOption '\<\(reuse_resources\|tags\|fuse\|auto_sync\|split_blocks\)\ze\s*=[^=]'
syntax match cclValue '=\s*\zs\(Simple\|LL\|interleaved\|none\|before\|after\|both\)\>'

" Verbs are verbs where a statement begins, and names elsewhere.
syntax match cclVerb '\(^\|[;{}\]]\)\s*\zs\(copy\|put\|get\|reduce\|broadcast\|signal\|wait\|flush\)\>\ze\(\s*[;(]\)\@!'
syntax match cclVerb '\(^\|[;{}\]]\)\s*\zs\(put_with_signal\|put_with_signal_and_flush\|put_packets\|read_put_packets\)\>'
syntax match cclVerb '\(^\|[;{}\]]\)\s*\zs\(copy_packets\|unpack_packets\|reduce_packets\|broadcast_packets\)\>'
syntax match cclVerb '\(^\|[;{}\]]\)\s*\zs\(acquire\|release\|barrier\|sync\)\>'

syntax match cclOperator '<->\|->\|[-+*/%&|^!<>=]\|\.\.[+=]\?'
syntax match cclNumber '\<\d[0-9_]*\(\.\d[0-9_]*\)\?\(KiB\|MiB\|GiB\)\?\>'
syntax match cclNumber '\<\d[0-9_]*\(\.\d[0-9_]*\)\?\(Bps\|KBps\|MBps\|GBps\|TBps\|Kbps\|Mbps\|Gbps\|Tbps\)\>'
syntax match cclNumber '\<\d[0-9_]*\(\.\d[0-9_]*\)\?\(ns\|us\|ms\)\>'
syntax match cclEscape '\\["\\]' contained
syntax region cclString start='"' skip='\\.' end='"\|$' contains=cclEscape
syntax match cclAttribute '#\[[^\]]*\]' contains=cclString,cclAllowed
syntax keyword cclAllowed allow shared clobber contained
syntax region cclAbilities matchgroup=cclClause start='\<abilities\s*=\s*\[' matchgroup=NONE end='\]' contains=cclAbility,cclComment
syntax keyword cclAbility memory port multicast reduce contained
syntax match cclComment '//.*$' contains=cclTodo,@Spell
syntax match cclDocumentation '//!.*$\|///\($\|[^/].*$\)' contains=cclTodo,@Spell
syntax keyword cclTodo TODO FIXME XXX NOTE contained

highlight default link cclName Identifier
highlight default link cclCall Function
highlight default link cclDeclaration Keyword
highlight default link cclControl Conditional
highlight default link cclConstant Boolean
highlight default link cclFuture Error
highlight default link cclClause Special
highlight default link cclBuiltin Special
highlight default link cclType Type
highlight default link cclFunction Function
highlight default link cclMethod Function
highlight default link cclOption Identifier
highlight default link cclValue Constant
highlight default link cclAbility Constant
highlight default link cclVerb Statement
highlight default link cclOperator Operator
highlight default link cclNumber Number
highlight default link cclEscape SpecialChar
highlight default link cclString String
highlight default link cclAttribute PreProc
highlight default link cclAllowed PreProc
highlight default link cclComment Comment
highlight default link cclDocumentation SpecialComment
highlight default link cclTodo Todo

let b:current_syntax = 'ccl'
