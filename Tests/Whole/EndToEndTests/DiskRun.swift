import StrictCoding
import BrokerHarness
import Testing

/// Requests of every kind, and the secrets in them and in their answers.
struct DiskRun {
    let fixture: DiskFixture
    var secrets: SecretSearch
    /// Why each request was refused that was, by its name in the audit.
    private(set) var refusals: [(requestID: String, reason: String)] = []

    /// - Parameter secrets: Those that are in no request.
    init(_ fixture: DiskFixture, secrets: SecretSearch) {
        self.fixture = fixture
        self.secrets = secrets
    }

    mutating func send(_ request: HTTPRequest, _ name: String, internally: Bool = false) async throws -> HTTPAnswer {
        secrets.addCredentials(of: request.octets, name)
        let answer = try await request.send(to: internally ? fixture.running.internalPort : fixture.running.publicPort)
        secrets.addTokens(of: answer, name)
        if let token = answer.refreshToken { addTag(of: token, name) }
        return answer
    }

    /// The database stores the position in the family, which precedes the tag; only the tag is secret.
    private mutating func addTag(of token: String, _ name: String) {
        guard let octets = Base64URL.decode(String(token.dropFirst("nsr1.".count))), octets.count > 32 else { return }
        secrets.add(octets: Array(octets.suffix(32)), "\(name): the tag of the refresh token")
    }

    mutating func granted(_ request: HTTPRequest, _ name: String) async throws -> HTTPAnswer {
        let answer = try await send(request, name)
        try #require(answer.status == 200, "\(name): \(answer.text)")
        return answer
    }

    mutating func refused(
        _ request: HTTPRequest, _ reason: String, _ name: String, internally: Bool = false
    ) async throws {
        let answer = try await send(request, "\(name), \(reason)", internally: internally)
        #expect((400..<500).contains(answer.status), "\(name), \(reason): \(answer.text)")
        refusals.append((try #require(answer["X-Request-Id"]), reason))
    }
}
