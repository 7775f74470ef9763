package pickle

// Opcodes, as Python's pickletools documents them.
const (
	opMark            = '('
	opStop            = '.'
	opPop             = '0'
	opPopMark         = '1'
	opDup             = '2'
	opFloat           = 'F'
	opInt             = 'I'
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opLong            = 'L'
	opBinInt2         = 'M'
	opNone            = 'N'
	opPersID          = 'P'
	opBinPersID       = 'Q'
	opReduce          = 'R'
	opString          = 'S'
	opBinString       = 'T'
	opShortBinString  = 'U'
	opUnicode         = 'V'
	opBinUnicode      = 'X'
	opAppend          = 'a'
	opBuild           = 'b'
	opGlobal          = 'c'
	opDict            = 'd'
	opEmptyDict       = '}'
	opAppends         = 'e'
	opGet             = 'g'
	opBinGet          = 'h'
	opInst            = 'i'
	opLongBinGet      = 'j'
	opList            = 'l'
	opEmptyList       = ']'
	opObj             = 'o'
	opPut             = 'p'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opTuple           = 't'
	opEmptyTuple      = ')'
	opSetItems        = 'u'
	opBinFloat        = 'G'
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opProto           = 0x80
	opNewObj          = 0x81
	opExt1            = 0x82
	opExt2            = 0x83
	opExt4            = 0x84
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opNewTrue         = 0x88
	opNewFalse        = 0x89
	opLong1           = 0x8a
	opLong4           = 0x8b
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes8       = 0x8e
	opEmptySet        = 0x8f
	opAddItems        = 0x90
	opFrozenSet       = 0x91
	opNewObjEx        = 0x92
	opStackGlobal     = 0x93
	opMemoize         = 0x94
	opFrame           = 0x95
	opByteArray8      = 0x96
	opNextBuffer      = 0x97
	opReadOnlyBuffer  = 0x98
)

// refused names the opcodes that are not data.
var refused = map[byte]string{
	opPersID: "PERSID", opBinPersID: "BINPERSID", opReduce: "REDUCE", opBuild: "BUILD", opGlobal: "GLOBAL",
	opInst: "INST", opObj: "OBJ", opNewObj: "NEWOBJ", opExt1: "EXT1", opExt2: "EXT2", opExt4: "EXT4",
	opNewObjEx: "NEWOBJ_EX", opStackGlobal: "STACK_GLOBAL", opNextBuffer: "NEXT_BUFFER", opReadOnlyBuffer: "READONLY_BUFFER",
}

// fixedArg is how many bytes follow an opcode, for those that have a fixed number.
var fixedArg = [256]uint8{
	opBinInt: 4, opBinInt1: 1, opBinInt2: 2, opBinGet: 1, opLongBinGet: 4, opBinPut: 1, opLongBinPut: 4, opBinFloat: 8,
	opBinUnicode: 4, opShortBinUnicode: 1, opBinUnicode8: 8, opBinBytes: 4, opShortBinBytes: 1, opBinBytes8: 8,
	opByteArray8: 8, opBinString: 4, opShortBinString: 1, opLong1: 1, opLong4: 4, opProto: 1, opFrame: 8,
}

// completes tells for the next opcode that the list or dict on top of the stack gets
// no more elements, because that opcode puts it where it belongs.
var completes = [256]bool{
	opSetItem: true, opSetItems: true, opAppend: true, opAppends: true, opAddItems: true, opTuple: true, opTuple1: true, opTuple2: true,
	opTuple3: true, opList: true, opDict: true, opFrozenSet: true, opStop: true, opPop: true,
}

// completesDict adds the opcodes after which a dict cannot get more: they begin a
// value that is no key. For a list it could be the last element, which CPython's slower
// pickler appends by itself.
var completesDict = func() [256]bool {
	t := completes
	t[opEmptyDict], t[opEmptyList], t[opEmptySet] = true, true, true
	return t
}()
