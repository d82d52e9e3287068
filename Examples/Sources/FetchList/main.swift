import Foundation
import Trellis

// fetch-list URL FOLDER downloads the files of a list of SHA-256 checksums, four at a time. Ctrl-C keeps what has come, and the same command
// continues.
let arguments = CommandLine.arguments
guard arguments.count == 3, let slash = arguments[1].lastIndex(of: "/") else {
    print("usage: fetch-list URL-OF-SHA256SUMS FOLDER")
    exit(64)
}
let (list, base, folder) = (arguments[1], arguments[1][...slash], arguments[2])
let session = Session()

/// Writes how far the files are.
@Sendable func show(_ batch: DownloadBatch) async {
    for await progress in batch.progress {
        let line = "\(batch.finishedCount) of \(batch.count) files, \(progress.completedBytes) bytes\n"
        FileHandle.standardError.write(Data(line.utf8))
    }
}

/// Downloads the files, and returns the number of failures.
@Sendable func fetch() async throws -> Int {
    let options: DownloadDestination.Options = [.createIntermediateDirectories, .keepIfItMatches, .removePreviousFile]
    var names: [String] = []
    var downloads: [DownloadRequest] = []
    let lines = try await session.string(list).utf8.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    for line in lines.map(Substring.init) {
        let words = line.split(separator: " ", maxSplits: 1)
        let name = words.last?.drop { $0 == " " || $0 == "*" } ?? ""
        guard words.count == 2, !name.isEmpty, !name.hasPrefix("."), !name.contains("/") else { continue }
        names.append(String(name))
        downloads.append(
            session.downloadRequest(
                "\(base)\(name)", to: .file("\(folder)/\(name)", options), checksum: .sha256(String(words[0]))))
    }
    guard !names.isEmpty else {
        print("the list names no file")
        return 1
    }
    let batch = session.downloads(of: downloads, maximumConcurrency: 4)
    async let _: Void = show(batch)  // ends with this function, and with its task
    var failures = 0
    for await outcome in batch {
        switch outcome.result {
        case .success(let file):
            let size = file.isExisting ? "kept" : "\(file.size) bytes, \(file.resumedBytes) of them from before"
            print("\(names[outcome.index]): \(size)")
        case .failure(let error):
            failures += 1
            print("\(names[outcome.index]): \(error)")
        }
    }
    try Task.checkCancellation()
    return failures
}

let work = Task { try await fetch() }
signal(SIGINT, SIG_IGN)
let interruption = DispatchSource.makeSignalSource(signal: SIGINT)
interruption.setEventHandler { work.cancel() }
interruption.activate()
do {
    exit(try await work.value == 0 ? 0 : 1)
} catch is CancellationError {
    print("interrupted: the same command continues")
    exit(130)
} catch {
    print(error)
    exit(1)
}
