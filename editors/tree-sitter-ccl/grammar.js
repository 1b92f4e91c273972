/**
 * The grammar of ccl for editors. It follows `grammar/ccl.ebnf` production by production, with the same words and operator
 * levels. It differs where that gives better trees or a simpler grammar: documentation is a comment and allowed anywhere, a
 * `name` is an `identifier`, all binary operators make a `binary_expression`, and the words reserved for later versions are
 * names.
 */

/** Any number of items separated by commas, with an optional comma at the end. */
const list = (rule) => optional(seq(list1(rule), optional(',')));

/** One or more items separated by commas. */
const list1 = (rule) => seq(rule, repeat(seq(',', rule)));

/** Binary operators from lowest to highest precedence: the name of the level, and its operators. */
const LEVELS = [
  ['disjunction', ['||']],
  ['conjunction', ['&&']],
  ['comparison', ['==', '!=', '<', '<=', '>', '>=']],
  ['bit_or', ['|']],
  ['bit_xor', ['^']],
  ['bit_and', ['&']],
  ['shift', ['<<', '>>']],
  ['additive', ['+', '-']],
  ['multiplicative', ['*', '/', '%']],
];

/** Two rules for each level: its operands, and its operations. All group to the left; comparisons do not chain. */
const levels = () => {
  const rules = {};
  LEVELS.forEach(([name, operators], index) => {
    const next = ($) => (index + 1 < LEVELS.length ? $[`_${LEVELS[index + 1][0]}`] : $._unary);
    const left = ($) => (name === 'comparison' ? next($) : $[`_${name}`]);
    const operator = operators.length > 1 ? choice(...operators) : operators[0];
    rules[`_${name}`] = ($) => choice(next($), alias($[`_${name}_operation`], $.binary_expression));
    rules[`_${name}_operation`] = ($) =>
      seq(field('left', left($)), field('operator', operator), field('right', next($)));
  });
  return rules;
};

const RESERVED = [
  'use', 'as', 'let', 'fn', 'proc', 'collective', 'topology', 'link', 'program', 'options', 'require', 'scratch',
  'channel', 'semaphore', 'block', 'group', 'pipeline', 'for', 'in', 'if', 'else', 'via', 'relaxed', 'true', 'false',
];

const TRANSFER = [
  'copy', 'put', 'put_with_signal', 'put_with_signal_and_flush', 'get', 'reduce', 'broadcast', 'put_packets',
  'read_put_packets', 'copy_packets', 'unpack_packets', 'reduce_packets', 'broadcast_packets',
];

const SYNCHRONISE = ['signal', 'wait', 'flush', 'acquire', 'release'];

/** Words with a special meaning in certain places; names elsewhere. */
const CLAUSES = [
  'barrier', 'input', 'output', 'in_place', 'ensures', 'op', 'sync', 'to', 'slice', 'of', 'switch', 'ports', 'on',
  'without',
];

const UNITS = [
  'KiB', 'MiB', 'GiB', 'Bps', 'KBps', 'MBps', 'GBps', 'TBps', 'Kbps', 'Mbps', 'Gbps', 'Tbps', 'ns', 'us', 'ms',
];

module.exports = grammar({
  name: 'ccl',

  word: ($) => $.identifier,

  reserved: {
    reserved: () => RESERVED,
    // Both the call of a procedure and these words can begin a statement.
    procedure: () => [...RESERVED, ...TRANSFER, ...SYNCHRONISE, ...CLAUSES],
  },

  extras: ($) => [/[ \t\r\n\f\uFEFF]/, $.comment, $.doc_comment, $.file_comment],

  supertypes: ($) => [$.item, $.declaration, $.statement],

  rules: {
    file: ($) => repeat(seq(repeat($.attribute), $.item)),

    // Items

    item: ($) => choice($.use, $.let, $.function, $.procedure, $.collective, $.topology, $.program),

    attribute: ($) =>
      seq('#', '[', field('name', $.identifier), '(', list1($.identifier), optional(seq(',', $.string)), optional(','), ')', ']'),

    use: ($) =>
      seq(
        'use',
        field('module', choice($.identifier, $.string)),
        repeat(seq('::', field('module', $.identifier))),
        optional(choice(seq('::', $.use_list), seq('as', field('alias', $.identifier)))),
        ';',
      ),

    use_list: ($) => seq('{', list1($.use_name), optional(','), '}'),

    use_name: ($) => seq(field('name', $.identifier), optional(seq('as', field('alias', $.identifier)))),

    function: ($) =>
      seq(
        'fn',
        field('name', $.identifier),
        field('parameters', $.parameters),
        optional(seq('->', field('result', $.type))),
        '=',
        field('value', $._expression),
        ';',
      ),

    procedure: ($) =>
      seq(
        'proc',
        field('name', reserved('procedure', $.identifier)),
        field('parameters', $.parameters),
        field('body', $.body),
      ),

    parameters: ($) => seq('(', list($.parameter), ')'),

    parameter: ($) =>
      seq(
        field('name', $.identifier),
        optional(seq(':', field('type', $.type))),
        optional(seq('=', field('default', $._expression))),
      ),

    type: ($) => seq(choice($.identifier, 'block', 'channel', 'semaphore'), repeat(seq('[', ']'))),

    // Collectives

    collective: ($) =>
      seq(
        'collective',
        field('name', $.identifier),
        field('parameters', $.parameters),
        field('body', $.collective_body),
      ),

    collective_body: ($) => seq('{', repeat(seq(repeat($.attribute), $._collective_item)), '}'),

    _collective_item: ($) => choice($.let, $.require, $.size, $.in_place, $.ensures),

    size: ($) => seq(field('buffer', choice('input', 'output')), '[', field('chunks', $._expression), ']', ';'),

    in_place: ($) =>
      seq('in_place', '{', field('buffer', choice('input', 'output')), '=', field('value', $._expression), ';', '}'),

    ensures: ($) => seq('ensures', optional(seq('for', $.binders)), '{', field('promise', $._expression), '}'),

    // Topologies

    topology: ($) =>
      seq(
        'topology',
        field('name', $.identifier),
        optional(field('parameters', $.parameters)),
        field('body', $.topology_body),
      ),

    topology_body: ($) => seq('{', repeat(seq(repeat($.attribute), $._topology_item)), '}'),

    _topology_item: ($) => choice($.let, $.require, $.rank_count, $.link, $.switch),

    rank_count: ($) => seq(field('word', choice('ranks', 'ranks_per_node')), field('count', $._expression), ';'),

    link: ($) => seq('link', optional(seq($.binders, ':')), $.link_ends, repeat(seq(',', $.property)), ';'),

    link_ends: ($) => seq(field('from', $._expression), choice('->', '<->'), field('to', $._expression)),

    switch: ($) =>
      seq(
        'switch',
        field('name', $.identifier),
        optional(field('dimensions', $.dimensions)),
        field('body', $.switch_body),
      ),

    switch_body: ($) => seq('{', repeat(choice($.ports, seq($.property, ';'))), '}'),

    ports: ($) =>
      seq(
        'ports',
        '(',
        optional(seq($.binders, ':')),
        field('vertex', $._expression),
        ')',
        repeat(seq(',', $.property)),
        ';',
      ),

    property: ($) => seq(field('name', $.identifier), '=', field('value', $._expression)),

    // Programs

    program: ($) =>
      seq('program', field('name', $.identifier), field('parameters', $.parameters), field('body', $.program_body)),

    program_body: ($) => seq('{', repeat(seq(repeat($.attribute), choice($.declaration, $.statement))), '}'),

    declaration: ($) => choice($.implements, $.machine, $.options, $.scratch, $.channel, $.semaphore),

    implements: ($) => seq('collective', field('collective', $.identifier), $.arguments, ';'),

    machine: ($) =>
      seq(
        'topology',
        field('topology', $.identifier),
        optional($.arguments),
        optional(seq('on', field('ranks', $._expression))),
        optional(field('without', $.missing_links)),
        ';',
      ),

    missing_links: ($) => seq('without', '[', list1($.link_ends), optional(','), ']'),

    options: ($) => seq('options', '{', repeat($.option_setting), '}'),

    option_setting: ($) => seq(field('name', $.identifier), '=', field('value', choice($._index, $.map)), ';'),

    map: ($) => seq('{', list1($.map_entry), optional(','), '}'),

    map_entry: ($) => seq(field('name', $.identifier), '=', field('value', $._expression)),

    scratch: ($) => seq('scratch', field('name', $.identifier), field('dimensions', $.dimensions), ';'),

    channel: ($) =>
      seq(
        'channel',
        field('name', $.identifier),
        optional(field('dimensions', $.dimensions)),
        '=',
        field('value', $._expression),
        optional($.channel_end),
        ';',
      ),

    channel_end: ($) => seq('to', field('name', $.identifier), optional(seq('[', list1($._expression), optional(','), ']'))),

    semaphore: ($) =>
      seq(
        'semaphore',
        field('name', $.identifier),
        optional(field('dimensions', $.dimensions)),
        optional(seq('=', field('value', $._expression))),
        ';',
      ),

    dimensions: ($) => seq('[', list1($._dimension), optional(','), ']'),

    opened_dimensions: ($) => seq('[', list1(choice($.all, $._dimension)), optional(','), ']'),

    _dimension: ($) => choice($.binder, $._expression),

    binders: ($) => list1($.binder),

    binder: ($) =>
      seq(
        field('name', $.identifier),
        'in',
        field('values', $._expression),
        optional(seq('if', field('condition', $._expression))),
      ),

    // Statements

    body: ($) => seq('{', repeat(seq(repeat($.attribute), $.statement)), '}'),

    statement: ($) =>
      choice(
        $.let, $.require, $.for, $.if, $.block, $.group, $.pipeline, $.barrier, $.sync, $.transfer, $.synchronise, $.call,
      ),

    let: ($) =>
      seq(
        'let',
        field('name', $.identifier),
        optional(seq(':', field('type', $.type))),
        '=',
        field('value', $._expression),
        ';',
      ),

    require: ($) =>
      seq('require', field('condition', $._expression), optional(seq(',', field('message', $.string))), ';'),

    for: ($) => seq('for', $.binders, field('body', $.body)),

    if: ($) =>
      seq(
        'if',
        field('condition', $._expression),
        field('consequence', $.body),
        optional(seq('else', field('alternative', choice($.if, $.body)))),
      ),

    block: ($) =>
      seq(
        'block',
        field('name', $.identifier),
        optional(field('dimensions', alias($.opened_dimensions, $.dimensions))),
        choice(field('body', $.body), seq(optional(seq('=', field('value', $._expression))), ';')),
      ),

    group: ($) => seq('group', $.operands, field('body', $.body)),

    pipeline: ($) => seq('pipeline', list1($.setting), field('body', $.body)),

    setting: ($) => seq(field('name', $.identifier), '=', field('value', $._expression)),

    barrier: ($) => seq('barrier', $.operands, ';'),

    sync: () => seq('sync', ';'),

    transfer: ($) =>
      seq(
        field('verb', choice(...TRANSFER)),
        field('sources', $.operands),
        '->',
        field('destinations', $.operands),
        optional(seq('via', field('channels', $.operands))),
        repeat($._modifier),
        ';',
      ),

    synchronise: ($) =>
      seq(field('verb', choice(...SYNCHRONISE)), field('operands', $.operands), repeat($._modifier), ';'),

    call: ($) => seq(field('procedure', reserved('procedure', $.identifier)), $.arguments, ';'),

    _modifier: ($) => choice($.relaxed, $.modifier, $.slice),

    relaxed: () => 'relaxed',

    modifier: ($) => seq(field('name', choice('op', 'sync')), '=', field('value', $.identifier)),

    slice: ($) => seq('slice', '=', field('part', $._expression), 'of', field('parts', $._expression)),

    operands: ($) => list1(choice($._expression, $.each)),

    each: ($) => seq('(', $.binders, ':', field('value', $._expression), ')'),

    // Expressions, from lowest to highest precedence

    arguments: ($) => seq('(', optional(choice(seq(list1($._argument), optional(',')), $._over)), ')'),

    _argument: ($) => choice($._expression, $.named_argument),

    named_argument: ($) => seq(field('name', $.identifier), '=', field('value', $._expression)),

    _over: ($) => seq($.binders, ':', field('value', $._expression)),

    _index: ($) => choice($.all, $._expression, alias($.open_range, $.range)),

    all: () => '*',

    open_range: ($) =>
      choice(
        '..',
        seq(choice('..', '..='), field('end', $._disjunction)),
        seq(field('start', $._disjunction), '..'),
      ),

    _expression: ($) => choice($._disjunction, $.range),

    range: ($) =>
      seq(field('start', $._disjunction), choice('..', '..=', '..+'), field('end', $._disjunction)),

    ...levels(),

    _unary: ($) => choice($.unary_expression, $._postfix),

    unary_expression: ($) => seq(field('operator', choice('-', '!')), field('operand', $._unary)),

    _postfix: ($) => choice($._primary, $.field, $.method_call, $.index),

    field: ($) => seq(field('value', $._postfix), '.', field('name', $.identifier)),

    method_call: ($) => seq(field('value', $._postfix), '.', field('method', $.identifier), $.arguments),

    index: ($) => seq(field('value', $._postfix), '[', list1($._index), optional(','), ']'),

    _primary: ($) =>
      choice(
        $.integer, $.string, $.boolean, $.identifier, $.function_call, $.parenthesized, $.set, $.list, $.conditional,
      ),

    function_call: ($) => seq(field('function', $.identifier), $.arguments),

    parenthesized: ($) => seq('(', $._expression, ')'),

    set: ($) =>
      seq('{', optional(choice($._gathered, seq(list1($._expression), optional(',')))), '}'),

    list: ($) =>
      seq('[', optional(choice($._gathered, seq(list1($._expression), optional(',')))), ']'),

    _gathered: ($) => seq($.binders, optional(seq(':', field('value', $._expression)))),

    conditional: ($) =>
      seq(
        'if',
        field('condition', $._expression),
        '{',
        field('consequence', $._expression),
        '}',
        'else',
        field('alternative', choice($.conditional, seq('{', $._expression, '}'))),
      ),

    // Tokens

    boolean: () => choice('true', 'false'),

    identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,

    // Only rates and times may have a decimal point.
    integer: () => token(seq(/[0-9][0-9_]*/, optional(/\.[0-9][0-9_]*/), optional(choice(...UNITS)))),

    string: ($) => seq('"', repeat(choice($._string_text, $.escape)), token.immediate('"')),

    _string_text: () => token.immediate(prec(1, /[^"\\\r\n]+/)),

    escape: () => token.immediate(/\\["\\]/),

    // Four or more slashes are an ordinary comment.
    comment: () => token(choice(prec(3, /\/\/\/\/[^\r\n]*/), /\/\/[^\r\n]*/)),

    doc_comment: ($) =>
      choice(seq(token(prec(2, '///')), alias($._comment_text, $.text)), token(prec(3, /\/\/\/(\r?\n|\r)/))),

    file_comment: ($) =>
      choice(seq(token(prec(2, '//!')), alias($._comment_text, $.text)), token(prec(3, /\/\/!(\r?\n|\r)/))),

    _comment_text: () => token.immediate(prec(4, /[^\r\n]+/)),
  },
});
