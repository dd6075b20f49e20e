@testable import HTTPServer
import NIOCore
import Testing

@Suite("Which read deadline applies")
struct ReadDeadlineTests {
    private static let limits = ListenerLimits(
        headerTimeout: .seconds(5), bodyTimeout: .seconds(10), idleTimeout: .seconds(60))

    private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    @Test("The deadline follows the phases idle, header, body, answer and idle")
    func cycle() {
        var state = ReadDeadline(limits: Self.limits, now: at(0))
        #expect(state.deadline == at(60))
        state.receivedPartOfHead(now: at(1))
        #expect(state.phase == .header && state.deadline == at(6))
        state.receivedPartOfHead(now: at(3))
        #expect(state.deadline == at(6), "more octets buy no time")
        state.receivedHead(now: at(4))
        #expect(state.phase == .body && state.deadline == at(14))
        state.receivedEnd(now: at(6))
        #expect(state.deadline == nil)
        state.answered(now: at(20))
        #expect(state.phase == .idle && state.deadline == at(80))
    }

    @Test("A pipelined request gets its time after the first answer")
    func pipelined() {
        var state = ReadDeadline(limits: Self.limits, now: at(0))
        state.receivedHead(now: at(0))
        state.receivedEnd(now: at(0))
        state.receivedPartOfHead(now: at(1))
        #expect(state.deadline == nil)
        state.receivedHead(now: at(2))
        state.answered(now: at(30))
        #expect(state.phase == .body && state.deadline == at(40))
        state.receivedEnd(now: at(31))
        state.receivedHead(now: at(31))
        state.receivedEnd(now: at(31))
        state.answered(now: at(32))
        #expect(state.deadline == nil, "one answer is still owed")
        state.answered(now: at(33))
        #expect(state.deadline == at(93))
    }

    @Test("After the answer to a fault the header deadline continues")
    func fault() {
        var state = ReadDeadline(limits: Self.limits, now: at(0))
        state.receivedPartOfHead(now: at(1))
        state.answered(now: at(2))
        #expect(state.deadline == at(7))
    }
}
