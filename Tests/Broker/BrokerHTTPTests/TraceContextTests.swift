import BrokerTesting
import HTTPServer
import NIOHTTP1
import StrictCoding
import Testing

@Suite("Trace context", .timeLimit(.minutes(1)))
struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"
    private static let valid = "00-\(trace)-\(span)-01"

    @Test(
        "A valid field gives trace and span", arguments: [valid, "cc-\(trace)-\(span)-00", "cc-\(trace)-\(span)-00-x"])
    func parses(field: String) throws {
        let context = try #require(TraceContext(traceparent: field))
        #expect(context.traceID == Self.trace)
        #expect(context.spanID == Self.span)
    }

    @Test(
        "Another field gives none",
        arguments: [
            "", "00", "ff-\(trace)-\(span)-01", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-x",
            "cc-\(trace)-\(span)-00x", "00-\(trace)-\(span)", "00-\(trace)-\(span)-0", "0g-\(trace)-\(span)-01",
            "00-\(trace)-\(span)-0G", "00_\(trace)-\(span)-01", "00-\(trace)_\(span)-01", "00-\(trace)-\(span)_01",
            "00-\(trace.uppercased())-\(span)-01", "00-00000000000000000000000000000000-\(span)-01",
            "00-\(trace)-0000000000000000-01", " \(valid)", "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-\(span)-01",
        ])
    func refuses(field: String) {
        #expect(TraceContext(traceparent: field) == nil)
    }

    @Test("Two fields give none: either may be the client's")
    func twice() {
        #expect(TraceContext(HTTPHeaders([("traceparent", Self.valid), ("Traceparent", Self.valid)])) == nil)
        #expect(TraceContext(HTTPHeaders([("Traceparent", Self.valid)])) != nil)
    }

    @Test("The log has the trace of a trusted proxy, and of no other sender", arguments: [true, false])
    func logged(isTrusted: Bool) async throws {
        var options = TestBroker.Options()
        if isTrusted { options.trustedProxies = TrustedProxies(blocks: [try #require(AddressBlock("127.0.0.0/8"))]) }
        try await TestBroker.run(options) { broker async throws in
            let request = Requests.post("grant_type=x", headers: ["traceparent: \(Self.valid)"])
            #expect(try await broker.answer(request)?.status == 400)
            let line = try #require(broker.log.requests.last)
            #expect(line.string("trace_id") == (isTrusted ? Self.trace : nil))
            #expect(line.string("span_id") == (isTrusted ? Self.span : nil))
        }
    }
}
