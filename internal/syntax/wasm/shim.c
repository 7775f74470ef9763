// The C part of package syntax: tree-sitter's core and its grammar of Python, with a way in
// that crosses from Go a fixed number of times for each source and not once a node.
//
// The core is one translation unit with this file, because what would reach for the system is
// cut off here: the module imports nothing. A hostile
// source can spend memory and steps, which are both bounded, and has nothing else to misuse.

#include <stdio.h>
#include <time.h>

// Tree-sitter prints graphs and logs when it is debugged, and reads a clock when it has a
// time limit. None of the three is used.
#undef fputs
#undef fputc
#undef fprintf
#undef fclose
#undef snprintf
#undef vsnprintf
#undef fdopen
#undef clock_gettime
#define fputs(...) (0)
#define fputc(...) (0)
#define fprintf(...) ((void)0)
#define fclose(...) ((void)0)
#define snprintf(...) (0)
#define vsnprintf(...) (0)
#define fdopen(...) ((FILE *)0)
#define clock_gettime(...) ((void)0)

#define HAVE_ENDIAN_H
#include "lib.c"

const TSLanguage *tree_sitter_python(void);

#define EXPORT(name) __attribute__((export_name(#name)))

// What parse returns when there is no tree. A number of nodes is never this large.
enum { TOO_DEEP = 0xffffffff, TOO_MUCH_WORK = 0xfffffffe, NO_MEMORY = 0xfffffffd };

// Flags of a node; tree.go has the same.
enum { NAMED = 1, ERROR = 2, MISSING = 4, EXTRA = 8, HAS_ERROR = 16 };

// A node as Go reads it, in pre-order. Lines are found from offsets, which the source has,
// and the end of a subtree from the parents, which saves half of the bytes.
typedef struct {
  uint16_t kind;
  uint8_t field;
  uint8_t flags;
  uint32_t start, end; // offsets in the source
  uint32_t parent;     // its index; the root is its own
} Record;

static TSParser *parser;
static TSTree *tree;
static Array(Record) records;
static Array(uint32_t) open; // the nodes above the present one

EXPORT(init) void init(void) {
  parser = ts_parser_new();
  ts_parser_set_language(parser, tree_sitter_python());
}

EXPORT(alloc) void *alloc(uint32_t size) { return malloc(size); }
EXPORT(release) void release(void *p) { free(p); }
EXPORT(nodes) Record *nodes(void) { return records.contents; }

typedef struct {
  uint64_t calls, limit;
} Budget;

// spent is called by tree-sitter every hundred steps; true ends the parse.
static bool spent(TSParseState *state) {
  Budget *b = state->payload;
  return ++b->calls > b->limit;
}

typedef struct {
  const char *text;
  uint32_t size;
} Source;

static const char *read_source(void *payload, uint32_t at, TSPoint point, uint32_t *size) {
  (void)point;
  const Source *s = payload;
  if (at >= s->size) {
    *size = 0;
    return "";
  }
  *size = s->size - at;
  return s->text + at;
}

static uint8_t flags_of(TSNode n) {
  return (ts_node_is_named(n) ? NAMED : 0) | (ts_node_is_error(n) ? ERROR : 0) |
         (ts_node_is_missing(n) ? MISSING : 0) | (ts_node_is_extra(n) ? EXTRA : 0) |
         (ts_node_has_error(n) ? HAS_ERROR : 0);
}

static void record(TSTreeCursor *cursor) {
  TSNode n = ts_tree_cursor_current_node(cursor);
  uint32_t index = records.size;
  Record r = {
    .kind = ts_node_symbol(n),
    .field = (uint8_t)ts_tree_cursor_current_field_id(cursor),
    .flags = flags_of(n),
    .start = ts_node_start_byte(n),
    .end = ts_node_end_byte(n),
    .parent = open.size ? *array_back(&open) : index,
  };
  array_push(&records, r);
}

// flatten writes the tree down in pre-order.
static uint32_t flatten(uint32_t max_depth) {
  array_clear(&records);
  array_clear(&open);
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  uint32_t result = TOO_DEEP;
  for (;;) {
    record(&cursor);
    uint32_t here = records.size - 1;
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      if (open.size >= max_depth) break;
      array_push(&open, here);
      continue;
    }
    bool more;
    while (!(more = ts_tree_cursor_goto_next_sibling(&cursor)) && open.size) {
      ts_tree_cursor_goto_parent(&cursor);
      array_pop(&open);
    }
    if (!more) {
      result = records.size;
      break;
    }
  }
  ts_tree_cursor_delete(&cursor);
  return result;
}

// parse reads size bytes of UTF-8 and returns how many nodes lie at nodes(), or why there
// are none. max_steps is in hundreds of tree-sitter's own steps.
EXPORT(parse) uint32_t parse(const char *text, uint32_t size, uint64_t max_steps, uint32_t max_depth) {
  Source source = {text, size};
  Budget budget = {0, max_steps};
  TSInput input = {&source, read_source, TSInputEncodingUTF8, NULL};
  TSParseOptions options = {&budget, spent};
  tree = ts_parser_parse_with_options(parser, NULL, input, options);
  if (!tree) {
    ts_parser_reset(parser);
    return budget.calls > budget.limit ? TOO_MUCH_WORK : NO_MEMORY;
  }
  uint32_t count = flatten(max_depth);
  ts_tree_delete(tree);
  tree = NULL;
  return count;
}

// Names of kinds and fields, asked once when the module is loaded.
EXPORT(kind_count) uint32_t kind_count(void) { return ts_language_symbol_count(tree_sitter_python()); }
EXPORT(field_count) uint32_t field_count(void) { return ts_language_field_count(tree_sitter_python()); }
EXPORT(kind_name) const char *kind_name(uint32_t kind) { return ts_language_symbol_name(tree_sitter_python(), kind); }
EXPORT(field_name) const char *field_name(uint32_t field) { return ts_language_field_name_for_id(tree_sitter_python(), field); }
