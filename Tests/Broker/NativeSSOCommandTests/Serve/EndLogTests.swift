import Dispatch
import Foundation
import NativeSSO
import Registry
import Testing

@testable import native_sso

@Suite("The journal of ends", .timeLimit(.minutes(1)))
struct EndLogTests {
    private func event(_ number: UInt64) -> EndLog.Event {
        EndLog.Event(
            kind: .grantRevoked, requestID: UniqueID(high: 1, low: number), occurredAt: UnixTime(seconds: 0),
            grant: UniqueID(high: 2, low: number), reason: "app")
    }

    private func problem(_ journal: EndLog, _ events: [EndLog.Event]) async -> String? {
        do throws(PortError) {
            try await journal.append(events)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `an end is not acknowledged, and waits for no disk that hangs`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let disk = DispatchQueue(label: "disk")
        let journal = EndLog(path: path, patience: .milliseconds(50), queue: disk)
        disk.suspend()
        for number: UInt64 in 1...2 {
            let problem = await problem(journal, [event(number)])
            #expect(problem?.contains("the disk of the journal took no line within 0.05 seconds") == true)
        }
        disk.resume()
        // Writes what waited, too.
        try await journal.append([event(3)])
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 3)
        for number: UInt64 in 1...3 {
            #expect(lines[Int(number) - 1].contains("\"request_id\":\"\(UniqueID(high: 1, low: number))\""))
        }
    }

    @Test func `a disk that hangs for long gathers no more than 1,024 writes`() async throws {
        let disk = DispatchQueue(label: "disk")
        let journal = EndLog(path: "/nowhere/journal", patience: .milliseconds(1), queue: disk)
        disk.suspend()
        defer { disk.resume() }
        for _ in 0..<1024 { #expect(await problem(journal, [])?.contains("took no line") == true) }
        #expect(await problem(journal, [])?.contains("1024 writes wait for the disk") == true)
    }
}
