@testable import BrokerHTTP
import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

extension TestBroker {
    /// Sends octets to a broker of their own: they are refused as stated, nothing is issued, one line is logged, and the
    /// broker is well afterwards.
    static func expectRefusal(
        _ request: String, status: Int, reason: String, closes: Bool = true, error: String = "invalid_request"
    ) async throws {
        try await TestBroker.run { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                await client.trySend(request)
                let answer = try #require(await client.lastAnswer())
                #expect(answer.status == status)
                #expect(answer.error == error)
                #expect(answer.values("content-type") == ["application/json"])
                #expect(answer.values("cache-control") == ["no-store"])
                #expect(answer.values("x-request-id").count == 1)
                #expect(answer.values("content-length") == [String(answer.body.count)])
                #expect(answer.closes == closes)
                if closes {
                    client.finish()
                    #expect(await client.lastAnswer() == nil)
                }
            }
            #expect(broker.log.requests.map { $0.string("reason") } == [reason])
            #expect(broker.domain.registry.admissions.isEmpty)
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
        }
    }
}
