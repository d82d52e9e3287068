import CurlEngine
import Foundation
import Testing

/// A text is written completely.
struct StandardErrorTests {
    @Test func aTextLargerThanAPipeIsWrittenWhole() async throws {
        let pipe = Pipe()
        let text = String(repeating: "line ü\n", count: 100_000)
        let end = pipe.fileHandleForWriting
        let writing = Task(executorPreference: BlockingExecutor.disk) {
            StandardError.write(text, to: end.fileDescriptor)
            try end.close()
        }
        let read = try pipe.fileHandleForReading.readToEnd()
        try await writing.value
        #expect(read == Data(text.utf8))
    }

    @Test func aDescriptorThatTakesNothingEndsTheWriting() {
        StandardError.write("lost", to: -1)
    }
}
