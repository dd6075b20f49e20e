import JOSE
import Testing

@testable import native_sso_bench

@Suite(.timeLimit(.minutes(5))) struct RawCryptographyTests {
    private static let output = """
        +H:256
        +R1:2048:private
        +F2:2:2048:3416.000000:64840.000000
        +F4:3:256:50000.000000:16000.000000
        """

    @Test func theMachineReadableFormOfOpenSSLIsRead() throws {
        let costs = try RawCryptography.openSSL(Self.output)
        #expect(costs[.es256] == RawCryptography.Cost(sign: 20, verify: 62.5))
        #expect(costs[.rs256]?.sign.rounded(to: 3) == "292.740")
        #expect(costs.count == 2)
    }

    @Test(arguments: ["+F4:3:256:0.000000:1.0", "+F4:3:256:x:y", "+F4:3"])
    func whatIsNotUnderstoodIsNotGuessed(_ line: String) {
        #expect(throws: RawCryptography.Failure.self) { try RawCryptography.openSSL(line) }
    }

    @Test func anExchangeVerifiesAndSignsARefreshSignsAlone() {
        let raw = RawCryptography([.es256: .init(sign: 15, verify: 35), .rs256: .init(sign: 200, verify: 13)])
        #expect(raw.microseconds(verifying: [.es256], signing: .es256) == 50)
        #expect(raw.microseconds(verifying: [.rs256], signing: .es256) == 28)
        #expect(raw.microseconds(verifying: [.rs256], signing: .rs256) == 213)
        #expect(raw.microseconds(verifying: [], signing: .es256) == 15)
        #expect(raw.microseconds(verifying: [.es256, .es256], signing: .es256) == 85)
    }
}
