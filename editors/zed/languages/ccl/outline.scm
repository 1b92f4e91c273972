(function "fn" @context name: (_) @name) @item
(procedure "proc" @context name: (_) @name) @item
(collective "collective" @context name: (_) @name) @item
(program "program" @context name: (_) @name) @item
(block "block" @context name: (_) @name) @item
(channel "channel" @context name: (_) @name) @item
(scratch "scratch" @context name: (_) @name) @item
(semaphore "semaphore" @context name: (_) @name) @item
