/// The options that `run.sh` passes, with the programs that the script has found and built.
struct Options {
    /// The use of the instruction counts.
    enum RecordUse {
        case ignore, check, write
    }

    var names: [String] = []
    var isQuick = false
    var jsonFile: String?
    /// The folder for the charts.
    var chartFolder: String?
    var clients = Set(Client.allCases)
    var rounds: Int?
    var instructionRecord = RecordUse.ignore
    var instructionRecordFile = ""
    /// The folder of the programs: `client-…`, `server`, `supervise`.
    var programs = ""
    /// The folder of the clients that valgrind can run: statically linked with Swift's libraries, without debug information.
    var strippedPrograms = ""
    /// The path of Go's client; `nil` if Go is not installed.
    var goClient: String?
    /// A folder with another libcurl for the clients; `nil` if the system's libcurl is used.
    var libraryPath: String?
    /// An empty folder for temporary files, which the caller removes.
    var temporaryFolder = ""

    init(_ arguments: some Sequence<String>) throws {
        var rest = Array(arguments.reversed())
        while let argument = rest.popLast() {
            func value() throws -> String {
                guard let value = rest.popLast() else { throw Failure("\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--quick": isQuick = true
            case "--json": jsonFile = try value()
            case "--svg": chartFolder = try value()
            case "--clients": clients = try Self.clients(in: value())
            case "--rounds": rounds = Int(try value()).map { max($0, 1) }
            case "--check-instructions": instructionRecord = .check
            case "--record-instructions": instructionRecord = .write
            case "--instruction-record": instructionRecordFile = try value()
            case "--programs": programs = try value()
            case "--stripped-programs": strippedPrograms = try value()
            case "--go-client": goClient = try value()
            case "--library-path": libraryPath = try value()
            case "--temporary-folder": temporaryFolder = try value()
            case _ where argument.hasPrefix("-"): throw Failure("unknown option \(argument)")
            default: names.append(argument)
            }
        }
        switch instructionRecord {
        case .ignore: break
        case .check:
            guard names.allSatisfy({ $0.hasPrefix("instructions") }) else {
                throw Failure("only instructions/… can be checked")
            }
            names.append(InstructionRecord.reference)
        case .write:
            guard names == ["instructions"] else { throw Failure("all of instructions/… are recorded together") }
        }
    }

    /// Returns the benchmarks that the names select: a complete name, or the part before a slash, which selects all benchmarks with that
    /// part.
    func benchmarks() throws -> [Benchmark] {
        guard !names.isEmpty else {
            return Catalogue.all.filter { !$0.isNamedOnly && (!isQuick || $0.isQuick) }
        }
        for name in names where !Catalogue.all.contains(where: { Self.selects(name, $0) }) {
            throw Failure("no benchmark \(name); there are: \(Catalogue.all.map(\.name).joined(separator: " "))")
        }
        return Catalogue.all.filter { benchmark in names.contains { Self.selects($0, benchmark) } }
    }

    private static func selects(_ name: String, _ benchmark: Benchmark) -> Bool {
        benchmark.name == name || benchmark.name.hasPrefix(name + "/")
    }

    private static func clients(in list: String) throws -> Set<Client> {
        Set(
            try list.split(separator: ",").map { name in
                guard let client = Client(rawValue: String(name)) else {
                    let known = Client.allCases.map(\.rawValue).joined(separator: " ")
                    throw Failure("no client \(name); there are: \(known)")
                }
                return client
            })
    }
}
