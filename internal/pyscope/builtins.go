package pyscope

// builtins are the names that Python has without an import.
var builtins = map[string]bool{
	"AssertionError": true, "AttributeError": true, "BaseException": true, "Exception": true,
	"False": true, "ImportError": true, "IndexError": true, "KeyError": true,
	"KeyboardInterrupt": true, "MemoryError": true, "ModuleNotFoundError": true, "None": true,
	"NotImplementedError": true, "OSError": true, "RuntimeError": true, "StopIteration": true,
	"True": true, "TypeError": true, "ValueError": true, "abs": true, "aiter": true, "all": true,
	"anext": true, "any": true, "ascii": true, "bin": true, "bool": true, "breakpoint": true,
	"bytearray": true, "bytes": true, "callable": true, "chr": true, "classmethod": true,
	"compile": true, "complex": true, "delattr": true, "dict": true, "dir": true, "divmod": true,
	"enumerate": true, "eval": true, "exec": true, "exit": true, "filter": true, "float": true,
	"format": true, "frozenset": true, "getattr": true, "globals": true, "hasattr": true,
	"hash": true, "help": true, "hex": true, "id": true, "input": true, "int": true,
	"isinstance": true, "issubclass": true, "iter": true, "len": true, "list": true, "locals": true,
	"map": true, "max": true, "memoryview": true, "min": true, "next": true, "object": true,
	"oct": true, "open": true, "ord": true, "pow": true, "print": true, "property": true,
	"quit": true, "range": true, "raw_input": true, "repr": true, "reversed": true, "round": true,
	"set": true, "setattr": true, "slice": true, "sorted": true, "staticmethod": true, "str": true,
	"sum": true, "super": true, "tuple": true, "type": true, "unicode": true, "vars": true,
	"xrange": true, "zip": true,
}
