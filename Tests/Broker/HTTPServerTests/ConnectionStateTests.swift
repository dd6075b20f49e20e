@testable import HTTPServer
import NIOCore
import NIOHTTP1
import Testing

@Suite("The state of a connection, without a network")
struct ConnectionStateTests {
    private func head(_ method: HTTPMethod = .POST, _ headers: HTTPHeaders = [:]) -> HTTPRequestHead {
        var headers = headers
        headers.add(name: "Host", value: "a")
        return HTTPRequestHead(version: .http1_1, method: method, uri: "/token", headers: headers)
    }

    private func whole(_ state: inout ConnectionState, _ head: HTTPRequestHead) -> Arrival? {
        _ = state.received(head)
        return state.receivedEnd(trailers: nil)
    }

    @Test("A body over the limit ends the intake, and nothing after it is delivered")
    func tooLarge() {
        var state = ConnectionState(limits: ListenerLimits(bodySize: 6), origin: .unknown, share: .unlimited)
        _ = state.received(head())
        #expect(state.received(ByteBuffer(string: "abcdef")) == nil)
        #expect(state.received(ByteBuffer(string: "g")) == .bodyTooLarge)
        #expect(state.receivedEnd(trailers: nil) == nil)
        #expect(whole(&state, head()) == nil)
        #expect(state.fail(.malformed) == nil)
        #expect(state.answering() == .init(hasBody: true, closes: true))
    }

    @Test("A fault behind a request is answered after it, and then the connection ends")
    func faultBehindRequest() {
        var state = ConnectionState(limits: ListenerLimits(), origin: .unknown, share: .unlimited)
        #expect(whole(&state, head()) != nil)
        #expect(state.fail(.malformed) == .malformed)
        #expect(state.answering() == .init(hasBody: true, closes: false))
        #expect(state.answering() == .init(hasBody: true, closes: true))
    }

    @Test("At most one request waits behind the one being answered")
    func behind() {
        var state = ConnectionState(limits: ListenerLimits(), origin: .unknown, share: .unlimited)
        #expect(whole(&state, head()) != nil)
        #expect(!state.isBehind)
        #expect(whole(&state, head()) != nil)
        #expect(state.isBehind)
        _ = state.answering()
        #expect(!state.isBehind)
    }

    @Test("While draining, the answer in flight is the last, unless a request is half read")
    func draining() {
        var state = ConnectionState(limits: ListenerLimits(), origin: .unknown, share: .unlimited)
        #expect(whole(&state, head()) != nil)
        state.drain()
        #expect(state.answering().closes)
        #expect(whole(&state, head()) == nil, "what cannot be answered is not carried out")

        state = ConnectionState(limits: ListenerLimits(), origin: .unknown, share: .unlimited)
        #expect(whole(&state, head()) != nil)
        _ = state.received(head())
        state.drain()
        #expect(!state.answering().closes)
        #expect(state.receivedEnd(trailers: nil) != nil)
        #expect(state.answering().closes)
    }

    @Test("An interim response is written only while no other answer is owed")
    func interim() {
        var state = ConnectionState(limits: ListenerLimits(), origin: .unknown, share: .unlimited)
        let expecting = head(.POST, ["Expect": "100-continue", "Content-Length": "3"])
        guard case .writeContinue = state.received(expecting) else {
            Issue.record("no interim response")
            return
        }
        #expect(state.receivedEnd(trailers: nil) != nil)
        guard case .none = state.received(expecting) else {
            Issue.record("interim response into an owed answer")
            return
        }
    }
}

extension RequestOrigin {
    static let unknown = RequestOrigin(peer: nil, proxies: .none)
}

extension BufferShare {
    static var unlimited: BufferShare { BufferShare(ConnectionCounts(), limit: .max) }
}
