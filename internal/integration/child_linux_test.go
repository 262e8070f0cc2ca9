package integration

func runAsChild() (ran bool, status int) { return false, 0 }
