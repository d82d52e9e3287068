import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The use of several connections for one download.
extension DownloadOperation {
    /// Returns the size of a file that is worth fetching in parts, if its server declares that it serves them; `nil` otherwise.
    func worthParts(_ representation: Representation, _ head: Response) -> Int64? {
        guard options.connections > 1, !usesOneConnection, canResume, representation.validator != nil,
            let total = representation.total, total >= 2 * DownloadSegments.smallest,
            // A response from the cache is read from there, not requested in parts.
            head.cacheStatus?.isFromCache != true,
            head.headers[.acceptRanges]?.lowercasedASCII() == "bytes"
        else { return nil }
        return total
    }

    /// Downloads the file in parts. Returns `true` when the file is complete, and `false` if one connection has to bring it.
    mutating func receiveParts(beginningWith first: StreamResponse?) async throws -> Bool {
        guard let file, let representation, let parts else { return false }
        try checkSize(parts.total, first?.response ?? response)
        try checkpointBeginning(of: parts)
        let fetching = DownloadParts(
            parts, of: representation, in: file, request: request, session: session, run: run, deadline: deadline,
            options: options, checkpoint: checkpointOfParts)
        do {
            try await fetching.fetch(beginningWith: first)
        } catch {
            self.parts = fetching.state
            guard error is DownloadParts.PartsNotUsable else {
                // The workers have used up their attempts already.
                isExhausted = true
                throw error
            }
            // The complete file is requested over one connection. An accepted part counts: an interruption is no error any more.
            if let last = fetching.response {
                hasBegun = true
                response = last
            }
            self.parts = nil
            self.representation = nil
            usesOneConnection = true
            return false
        }
        if let last = fetching.response {
            (response, observer) = (last, fetching.observer)
            // A response with a part may carry the digest that the first one lacked.
            if digests.checksum == nil { digests.restart(serverChecksum(last)) }
        }
        self.parts = nil
        offset = parts.total
        return true
    }
}
