private import Glibc

/// The identity of the machine's present boot. Bytes that the kernel was given and has not written to the disk are lost with the
/// boot.
package enum BootID {
    /// The ID of the boot (`/proc/sys/kernel/random/boot_id`); `nil` if the system does not report it. Reads a file the first
    /// time.
    package static let id: String? = {
        let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 30 else { return nil }
        return String(decoding: bytes.prefix(count).prefix { $0 > 0x20 }, as: UTF8.self)
    }()
}
