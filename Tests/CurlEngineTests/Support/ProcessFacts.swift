import Foundation
import Glibc

/// Facts about this process, as reported by the kernel.
enum ProcessFacts {
    /// Returns the identifiers of the threads with this name.
    static func threads(named name: String) -> [String] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.filter { contents("/proc/self/task/\($0)/comm")?.hasPrefix(name + "\n") == true }
    }

    /// The open descriptors with their targets, such as sockets, event descriptors and polls.
    static var descriptors: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")).map {
                "\(name) \($0)"
            }
        }
    }

    /// The number of descriptors of events, polls and timers. An engine has one of the first two; the runtime has all of them.
    static var engineDescriptorCount: Int {
        descriptors.count { $0.contains("[eventpoll]") || $0.contains("[eventfd]") || $0.contains("[timerfd]") }
    }

    /// Returns the signals that a thread blocks: the first signal is the lowest bit.
    static func blockedSignals(ofThread identifier: String) -> UInt64? {
        let status = contents("/proc/self/task/\(identifier)/status") ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
        return line.flatMap { UInt64($0.dropFirst(7).drop { $0 == "\t" }, radix: 16) }
    }

    /// Returns the number of times that a thread has given up the processor to wait.
    static func voluntarySwitches(ofThread identifier: String) -> Int? {
        let status = contents("/proc/self/task/\(identifier)/status") ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        return line.flatMap { Int($0.drop { !$0.isNumber }) }
    }

    /// Returns the limit of a thread's wait for sockets, in milliseconds, which is negative if there is none; `nil` if the thread does not
    /// wait for sockets.
    static func socketWaitLimit(ofThread identifier: String) -> Int32? {
        // The number of the system call, and its arguments. The thread has no other call that waits with a poll as its first argument.
        let words = (contents("/proc/self/task/\(identifier)/syscall") ?? "").split(separator: " ")
        guard words.count > 4, let poll = UInt64(words[1].dropFirst(2), radix: 16),
            let limit = UInt64(words[4].dropFirst(2), radix: 16),
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(poll)"),
            target.contains("[eventpoll]")
        else { return nil }
        return Int32(truncatingIfNeeded: limit)
    }

    private static func contents(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The calling thread.
enum CurrentThread {
    static var identifier: UInt { UInt(pthread_self()) }
}
