import CurlEngine
import FoundationEssentials
import HTTPTypes

/// How a download hands its work to several connections.
extension DownloadJourney {
    /// The size of a file that is worth to be fetched in parts, of a server that says that it serves them.
    func worthParts(_ representation: Representation, _ head: Response) -> Int64? {
        guard options.connections > 1, !mustBeOne, canResume, representation.validator != nil,
            let total = representation.total, total >= 2 * DownloadSegments.smallest,
            head.headerFields[.acceptRanges]?.lowercased() == "bytes"
        else { return nil }
        return total
    }

    mutating func receiveParts(beginningWith first: StreamResponse?) async throws -> Bool {
        guard let file, let representation, let parts else { return false }
        try checkSize(parts.total, first?.head ?? response)
        try noteBeginning(of: parts)
        let fetching = DownloadParts(
            parts, of: representation, in: file, request: request, session: session, run: run, deadline: deadline,
            options: options, note: noteOfParts)
        do {
            try await fetching.fetch(beginningWith: first)
        } catch {
            self.parts = fetching.state
            guard error is DownloadParts.Useless else {
                // Its workers had the patience.
                isExhausted = true
                throw error
            }
            // All of it, over one connection.
            self.parts = nil
            self.representation = nil
            mustBeOne = true
            return false
        }
        if let last = fetching.response {
            response = last
            // What was begun earlier may have been told none.
            if digests.checksum == nil { digests.restart(serverChecksum(last, isWhole: false)) }
        }
        self.parts = nil
        offset = parts.total
        return true
    }
}
