import IdentityProvider
import JOSE
import NativeSSO
import PostgresClient
import StrictCoding
import Testing

/// The log shows an error as words and codes, not as Swift's description of a value.
@Suite("Errors in the log")
struct LoggedErrorTests {
    static let errors: [any Error & Sendable] =
        PostgresError.Reason.allCases.flatMap {
            [PostgresError.unavailable($0), .outcomeUnknown($0)] as [any Error & Sendable]
        } + [
            PostgresError.server(SQLState("57P01"), message: "terminating", constraint: "c"),
            PostgresError.server(SQLState("22003"), message: "", constraint: nil),
            PostgresError.unexpectedResult(column: 3),
            PortError.outage(Outage(.database, "unavailable: connect_failed")), PortError.broken("two disagree"),
            KeySetFetchError.timedOut, KeySetFetchError.unreachable("connection refused"),
            KeySetFetchError.redirected, KeySetFetchError.status(404), KeySetFetchError.encoded,
            KeySetFetchError.tooLarge, KeySetFetchError.unreadableFile, KeySetFetchError.metadata(.issuerMismatch),
            KeySetFetchError.metadata(.notJSON(.unexpectedByte(offset: 7))),
            KeySetFetchError.keySet(.notJSON(.unexpectedEnd)), KeySetFetchError.keySet(.noUsableKey),
            JSONWebKeyError.weakKey,
        ]

    @Test(arguments: errors) func `print as words`(error: any Error & Sendable) {
        let text = "\(error)"
        // No payload of a case, no Optional, no structure; no name of a type or a case.
        #expect(!text.contains("(") && !text.contains("Optional") && !text.contains(/[a-z][A-Z]/), "\(text)")
        #expect(!text.contains(/[A-Za-z]+\.[A-Za-z]/), "\(text)")
    }
}
