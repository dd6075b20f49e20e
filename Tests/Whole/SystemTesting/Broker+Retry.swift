extension Broker {
    /// Sends one token request, and again while the broker says that it cannot do its work just now, as an app would: on a
    /// busy machine, whoever comes last in a crowd is told so.
    public func settledToken(_ form: TokenForm) async throws -> HTTPAnswer {
        try await eventually("an answer that is no outage") {
            let answer = try await token(form)
            return answer.status == 503 && answer.error == "temporarily_unavailable" ? nil : answer
        }
    }
}
