import JOSE
import Logging
import OAuthWire
import StrictCoding
import Synchronization
import Testing

@testable import DevelopmentIdP

@Suite struct BackChannelLogoutTests {
    private let key: SigningKey
    private let session = EndedSession(
        sid: "S1", subject: "248289761001", clients: ["app-one", "app-three", "app-two"])

    init() throws { key = try SigningKey(generating: .es256) }

    private func told(
        mode: ProviderMode = .stamping, answering status: @escaping @Sendable (String) throws -> Int = { _ in 200 }
    ) async throws -> [(address: String, token: JSONObject, type: String?)] {
        let configuration = try ProviderConfiguration(
            port: 9000, mode: mode,
            clients: [
                RegisteredClient(id: "app-one", redirectURIs: [], backChannelLogoutURI: "http://127.0.0.1:1/one"),
                RegisteredClient(id: "app-two", redirectURIs: [], backChannelLogoutURI: "http://127.0.0.1:1/two"),
                RegisteredClient(id: "app-three", redirectURIs: []),
            ])
        let deliveries = Mutex<[(String, [UInt8])]>([])
        let logout = BackChannelLogout(
            configuration, signingKeys: SigningKeys(key),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { 1_800_000_000 }
        ) { address, form in
            deliveries.withLock { $0.append((address, form)) }
            return try status(address)
        }
        await logout.sessionEnded(session)
        return try deliveries.withLock { $0 }.map { address, form in
            let token = try #require(try FormDecoder.decode(form)["logout_token"])
            let jws = try CompactJWS(token)
            return (address, try jws.verified(by: key.publicKey).claims, jws.header.type)
        }
    }

    @Test func everyClientWithAnAddressIsTold() async throws {
        let told = try await told()
        #expect(told.map(\.address) == ["http://127.0.0.1:1/one", "http://127.0.0.1:1/two"])
        #expect(told.map { $0.token.string("aud") } == ["app-one", "app-two"])
        #expect(told.allSatisfy { $0.type == "logout+jwt" })
        let token = told[0].token
        #expect(token.string("iss") == "http://127.0.0.1:9000")
        #expect(token.string("sub") == "248289761001")
        #expect(token.string("sid") == "S1")
        #expect(token.number("iat")?.int64 == 1_800_000_000)
        #expect(token.number("exp")?.int64 == 1_800_000_120)
        #expect(token.object("events")?.object("http://schemas.openid.net/event/backchannel-logout")?.isEmpty == true)
        #expect(!token.contains("nonce"))
        #expect(token.string("jti") != told[1].token.string("jti"))
    }

    @Test func aSilentReceiverDelaysNoOther() async throws {
        struct Away: Error {}
        #expect(try await told { address in if address.hasSuffix("one") { throw Away() } else { 200 } }.count == 2)
        #expect(try await told { _ in 503 }.count == 2)
    }

    @Test func aPlainProviderHasNoSID() async throws {
        #expect(try await told(mode: .plain).allSatisfy { !$0.token.contains("sid") })
    }
}
