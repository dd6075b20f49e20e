import ChildProcesses
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct LineReaderTests {
    @Test func linesComeAsTheyAreWritten() async throws {
        let channel = try PrivateChannel()
        let reader = LineReader(channel.reading)
        try channel.writing.write(contentsOf: Data("one\n\ntw".utf8))
        #expect(await reader.next() == "one")
        #expect(await reader.next() == "")
        try channel.writing.write(contentsOf: Data("o\nrest".utf8))
        #expect(try await reader.next(within: .seconds(30)) == "two")
        try channel.writing.close()
        #expect(try await reader.next(within: .seconds(30)) == "rest")
        #expect(try await reader.next(within: .seconds(30)) == nil)
    }

    @Test func aWaitHasABound() async throws {
        let channel = try PrivateChannel()
        let reader = LineReader(channel.reading)
        await #expect(throws: LineReader.Silence.self) { try await reader.next(within: .milliseconds(20)) }
        #expect(await reader.next() == nil)
        try channel.writing.close()
    }

    @Test func aCancelledWaitEnds() async throws {
        let channel = try PrivateChannel()
        let reader = LineReader(channel.reading)
        let wait = Task { await reader.next() }
        wait.cancel()
        #expect(await wait.value == nil)
        try channel.writing.close()
    }
}
