import StrictCoding
import BrokerHarness

extension HTTPAnswer {
    var refreshToken: String? { json?.string("refresh_token") }

    /// What an outage looks like, to the letter of the contract.
    var isOutage: Bool {
        status == 503 && error == "temporarily_unavailable" && Int(self["Retry-After"] ?? "") != nil && keepsContract
    }

    /// As the ledger tells outcomes apart.
    var outcome: LedgerEntry.Outcome {
        if status == 200, keepsContract, let token = refreshToken.flatMap({ RefreshToken($0) }) {
            return .granted(token)
        }
        if status == 400, keepsContract, error == "invalid_grant" { return .refused }
        return isOutage ? .unavailable : .unexpected("\(status) \(error ?? text)")
    }
}
