import Foundation
import Synchronization

/// What a program writes, line by line, as it comes.
final class Lines: Sendable {
    private struct State {
        var octets: [UInt8] = []
        var isAtEnd = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Reads on a thread of its own until the other side closes.
    func read(_ handle: FileHandle) {
        Thread.detachNewThread {
            while true {
                let data = handle.availableData
                self.add(data.isEmpty ? nil : Array(data))
                if data.isEmpty { return }
            }
        }
    }

    var text: String { String(decoding: state.withLock(\.octets), as: UTF8.self) }

    /// The first whole line that fits, waited for; nil where the end comes before.
    func first(where fits: (Substring) -> Bool) async -> String? {
        while true {
            let (text, isAtEnd) = state.withLock { (String(decoding: $0.octets, as: UTF8.self), $0.isAtEnd) }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast(isAtEnd ? 0 : 1)
            if let line = lines.first(where: fits) { return String(line) }
            if isAtEnd { return nil }
            await change(after: text.utf8.count)
        }
    }

    func end() async {
        while !state.withLock(\.isAtEnd) { await change(after: state.withLock(\.octets.count)) }
    }

    private func change(after count: Int) async {
        await withCheckedContinuation { continuation in
            let isChanged = state.withLock { state in
                if state.isAtEnd || state.octets.count > count { return true }
                state.waiting.append(continuation)
                return false
            }
            if isChanged { continuation.resume() }
        }
    }

    private func add(_ octets: [UInt8]?) {
        let waiting = state.withLock { state in
            if let octets { state.octets += octets } else { state.isAtEnd = true }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
