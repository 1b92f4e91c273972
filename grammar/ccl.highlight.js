// Made from the table of words by: BLESS=1 cargo test -p ccl-grammar
hljs.registerLanguage('ccl', () => ({
  "contains": [
    {
      "begin": "//",
      "className": "comment",
      "end": "$"
    },
    {
      "begin": "\"",
      "className": "string",
      "contains": [
        {
          "begin": "\\\\."
        }
      ],
      "end": "\"|$"
    },
    {
      "begin": "#\\[",
      "className": "meta",
      "contains": [
        {
          "begin": "\"",
          "className": "string",
          "contains": [
            {
              "begin": "\\\\."
            }
          ],
          "end": "\"|$"
        }
      ],
      "end": "\\]",
      "keywords": {
        "meta-keyword": "allow shared clobber"
      }
    },
    {
      "begin": "\\babilities\\s*=\\s*\\[",
      "end": "\\]",
      "keywords": {
        "literal": "memory port multicast reduce",
        "variable": "abilities"
      }
    },
    {
      "begin": "\\b[0-9][0-9_]*(?:\\.[0-9][0-9_]*)?(?:GBps|Gbps|KBps|Kbps|MBps|Mbps|TBps|Tbps|Bps|GiB|KiB|MiB|ms|ns|us)?\\b",
      "className": "number"
    },
    {
      "beginKeywords": "fn proc collective topology program",
      "contains": [
        {
          "begin": "[A-Za-z_][A-Za-z0-9_]*",
          "className": "title"
        }
      ],
      "end": "(?=[({;]|\\b(?:on|without)\\b)"
    },
    {
      "begin": "(?:^|[;{}\\]])\\s*(?=(?:put_with_signal_and_flush|broadcast_packets|read_put_packets|put_with_signal|reduce_packets|unpack_packets|copy_packets|put_packets|broadcast|acquire|barrier|release|reduce|signal|flush|copy|sync|wait|get|put)(?:\\b))",
      "end": "\\b(?:put_with_signal_and_flush|broadcast_packets|read_put_packets|put_with_signal|reduce_packets|unpack_packets|copy_packets|put_packets|broadcast|acquire|barrier|release|reduce|signal|flush|copy|sync|wait|get|put)\\b",
      "keywords": {
        "built_in": "copy put put_with_signal put_with_signal_and_flush get reduce broadcast put_packets read_put_packets copy_packets unpack_packets reduce_packets broadcast_packets signal wait flush acquire release barrier sync"
      }
    },
    {
      "begin": ":\\s*(?=(?:buffer|chunk|bool|rank|rate|time|int)(?:\\b))",
      "end": "\\b(?:buffer|chunk|bool|rank|rate|time|int)\\b",
      "keywords": {
        "type": "int bool rank rate time chunk buffer"
      }
    },
    {
      "begin": "->\\s*(?=(?:buffer|chunk|bool|rank|rate|time|int)(?:(?:\\[\\])*\\s*=))",
      "end": "\\b(?:buffer|chunk|bool|rank|rate|time|int)\\b",
      "keywords": {
        "type": "int bool rank rate time chunk buffer"
      }
    },
    {
      "begin": "\\.(?=(?:contains|position|step|len|rev)(?:\\s*\\())",
      "end": "\\b(?:contains|position|step|len|rev)\\b",
      "keywords": {
        "built_in": "len position contains step rev"
      }
    },
    {
      "begin": "\\.(?=(?:local_rank|node_peers|rail_peers|peers|node)(?:\\b))",
      "end": "\\b(?:local_rank|node_peers|rail_peers|peers|node)\\b",
      "keywords": {
        "variable": "peers node local_rank node_peers rail_peers"
      }
    },
    {
      "begin": "\\b(?:rank_at|memory|switch|begun|port|same|abs|all|any|max|min|sum)(?=\\s*\\()",
      "className": "built_in"
    },
    {
      "begin": "\\b(?:reuse_resources|double_scratch|message_size|split_blocks|replication|alignment|auto_sync|instances|protocol|threads|fuse|name|tags)(?=\\s*=[^=])",
      "className": "attr"
    }
  ],
  "keywords": {
    "keyword": "use let fn proc collective program topology link options require scratch channel semaphore block group pipeline for in if else as via relaxed flow synthesize",
    "literal": "true false Simple LL interleaved none before after both",
    "variable": "rank ranks peers node nodes local_rank ranks_per_node node_peers rail_peers input output in_place ensures op to std unit slice of chunks switch ports on without bandwidth latency abilities"
  },
  "name": "ccl"
}));
