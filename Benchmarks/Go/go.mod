module trellis-benchmarks/client-go

go 1.19
