import Foundation
import Testing

/// What the build knows of nghttp2 without its header is what that header says, where it is installed.
struct NGHTTP2HeaderTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../Sources/CCurl/http2"
    )
    .standardizedFileURL.path
    private static let types = [
        "nghttp2_session", "nghttp2_session_callbacks", "nghttp2_option", "nghttp2_nv", "nghttp2_frame_hd",
        "nghttp2_data",
        "nghttp2_ping", "nghttp2_goaway", "nghttp2_frame", "nghttp2_settings_entry", "nghttp2_data_source",
        "nghttp2_data_source_read_callback", "nghttp2_data_provider", "nghttp2_priority_spec", "nghttp2_settings_id",
        "nghttp2_mem",
        "nghttp2_send_data_callback", "nghttp2_on_frame_recv_callback", "nghttp2_on_invalid_frame_recv_callback",
        "nghttp2_on_data_chunk_recv_callback", "nghttp2_on_frame_send_callback", "nghttp2_on_stream_close_callback",
        "nghttp2_on_begin_headers_callback", "nghttp2_on_header_callback", "nghttp2_on_begin_frame_callback",
        "nghttp2_error_callback2",
    ]

    /// A program that compiles only if both agree.
    private static var program: String {
        """
        #include <stddef.h>
        \(types.map { "#define \($0) known_\($0)" }.joined(separator: "\n"))
        #include "nghttp2.h"
        \(types.map { "#undef \($0)" }.joined(separator: "\n"))
        #include <nghttp2/nghttp2.h>
        #define FIELD(type, field) _Static_assert(offsetof(type, field) == offsetof(known_##type, field) && \\
          sizeof(((type *)0)->field) >= sizeof(((known_##type *)0)->field), #type "." #field);
        #define SIZE(type) _Static_assert(sizeof(type) == sizeof(known_##type), #type);
        #define CONSTANT(name, value) _Static_assert(name == value, #name);
        #define FUNCTION(result, name, parameters) \\
          _Static_assert(__builtin_types_compatible_p(__typeof__(name), result parameters), #name);
        CCURL_NGHTTP2_FIELDS(FIELD)
        CCURL_NGHTTP2_SIZES(SIZE)
        CCURL_NGHTTP2_CONSTANTS(CONSTANT)
        CCURL_NGHTTP2_FUNCTIONS(FUNCTION)
        """
    }

    private static func compiles(_ program: String) throws -> (isFine: Bool, text: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "clang", "-fsyntax-only", "-Wno-nullability-completeness", "-iquote", folder, "-x", "c", "-",
        ]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardError) = (input, output)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(program.utf8))
        try input.fileHandleForWriting.close()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus == 0, String(decoding: text, as: UTF8.self))
    }

    private static let hasHeader = (try? compiles("#include <nghttp2/nghttp2.h>"))?.isFine ?? false

    @Test(.enabled(if: hasHeader, "needs nghttp2's header"))
    func theHeaderSaysTheSame() throws {
        let (isFine, text) = try Self.compiles(Self.program)
        #expect(isFine, "\(text)")
        // A wrong value would be noticed.
        let wrong = Self.program + "\n_Static_assert(offsetof(nghttp2_goaway, error_code) == 0, \"\");"
        #expect(try !Self.compiles(wrong).isFine)
    }
}
