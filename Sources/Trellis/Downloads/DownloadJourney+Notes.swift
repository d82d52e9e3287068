import CurlEngine

/// What a download notes of itself for one that goes on with it: see ``DownloadNotes``.
extension DownloadJourney {
    /// What is there, and what it is a part of.
    ///
    /// - Parameters:
    ///   - done: What is on the disk when this is written.
    ///   - pending: What the kernel has.
    private func resumeData(
        done: [Range<Int64>], pending: ResumeData.Pending? = nil, stamp: PartialFile.Stamp? = nil
    ) -> ResumeData? {
        guard canResume, let file, let representation else { return nil }
        return ResumeData(
            representation, url: ResumeData.name(of: request.url), path: file.path, done: done, stamp: stamp,
            pending: pending)
    }

    /// What comes in order is there as far as the file is long, if it is the same kernel that tells.
    private func resumeData(upTo offset: Int64) -> ResumeData? {
        resumeData(
            done: offset > 0 ? [0..<offset] : [], pending: ResumeData.Pending([0..<(representation?.total ?? .max)]))
    }

    /// Before anything is written that comes in order.
    func noteBeginning() {
        if let data = resumeData(upTo: offset) { notes?.begin(data) }
    }

    /// What has come in order, as soon as it is on the disk.
    func noteProgress() {
        if let data = resumeData(upTo: offset) { notes?.save(data) }
    }

    /// Before anything is written that leaves gaps: the length of the file tells nothing from then on. Where that cannot be noted, a
    /// note from before goes, which would take the gaps for bytes.
    ///
    /// - Throws: ``TrellisError`` where it does not go.
    func noteBeginning(of parts: DownloadSegments) throws {
        guard let notes, let data = resumeData(done: parts.done) else { return }
        if !notes.begin(data) { try file?.forgetNote() }
        try notes.check()
    }

    /// What notes of parts are made with.
    var noteOfParts: @Sendable (DownloadSegments, _ isTime: Bool) throws -> Void {
        guard let notes, let data = resumeData(done: []) else { return { _, _ in } }
        return { parts, isTime in
            if isTime {
                try notes.check()
                return notes.save(data.with(done: parts.done))
            }
            // Until the first second is over a note costs no more than this.
            guard !notes.hasSaved, let pending = ResumeData.Pending(parts.done) else { return }
            notes.jot(data.with(done: [], pending: pending))
        }
    }

    /// Nothing more comes, and what is there ends here.
    func lastNote(end: Int64) -> ResumeData? {
        let done = parts?.done ?? [0..<end]
        return resumeData(done: done.map { $0.clamped(to: 0..<end) }.filter { !$0.isEmpty }, stamp: file?.stamp)
    }
}
