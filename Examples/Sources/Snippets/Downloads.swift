import Trellis

/// The code of the article about downloads.
func downloadImage(with session: Session) async throws -> DownloadedFile {
    let download = session.downloadRequest(
        "https://example.com/big.iso", to: .file("big.iso"), checksum: .sha256("9f86d0…"))
    for await progress in download.progress {
        print(progress.fraction ?? 0, progress.bytesPerSecond ?? 0, progress.estimatedTimeLeft ?? .zero)
    }
    let file = try await download.value
    return file
}

func keepImage(with session: Session) async throws {
    let file = try await session.download(
        "https://example.com/big.iso", to: .file("big.iso", [.keepIfItMatches, .removePreviousFile]),
        checksum: .sha256("9f86d0…"))
    print(file.isExisting ? "existing" : "downloaded")
}

func moveDownload(_ download: DownloadRequest, with session: Session) async throws {
    if let resumeData = await download.cancelProducingResumeData() {
        let file = try await session.downloadRequest(resuming: resumeData, to: .file("other.iso")).value
        print(file.path, file.resumedBytes)
    }
}

struct Item: Sendable {
    var url: String
    var name: String
    var sha256: String
}

/// Downloads the items into a folder, and returns the number of the downloads that failed.
func download(_ items: [Item], to folder: String, session: Session) async throws -> Int {
    let options: DownloadDestination.Options = [
        .createIntermediateDirectories, .keepIfItMatches, .removePreviousFile,
    ]
    let downloads = items.map { item in
        session.downloadRequest(
            item.url, to: .file("\(folder)/\(item.name)", options), checksum: .sha256(item.sha256))
    }
    let batch = session.downloads(of: downloads, maximumConcurrency: 4)
    async let _: Void = {  // ends with this function, and with its task
        for await progress in batch.progress {
            let share = progress.fraction.map { "\(Int($0 * 100)) %" } ?? "\(batch.finishedCount) of \(batch.count)"
            print(share, progress.completedBytes, "bytes")
        }
    }()

    var failed = 0
    for await outcome in batch {  // this loop starts the downloads
        switch outcome.result {
        case .success(let file):
            print(file.path, file.isExisting ? "kept" : "\(file.size - file.resumedBytes) new bytes")
        case .failure(let error):
            failed += 1
            print(items[outcome.index].url, error)
        }
    }
    try Task.checkCancellation()  // the loop ends without an error in a cancelled task
    return failed
}
