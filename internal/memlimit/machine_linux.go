package memlimit

import "io/fs"

func machine(root fs.FS) int64 { return linux(root) }
