import BrokerHarness

extension HTTPAnswer {
    /// As the ledger tells outcomes apart.
    var outcome: LedgerEntry.Outcome {
        if status == 200, keepsContract, let token = refreshToken.flatMap({ RefreshToken($0) }) {
            return .granted(token)
        }
        if status == 400, keepsContract, error == "invalid_grant" { return .refused }
        return isOutage ? .unavailable : .unexpected("\(status) \(error ?? text)")
    }
}
