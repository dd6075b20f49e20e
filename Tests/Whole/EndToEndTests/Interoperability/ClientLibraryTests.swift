import Testing

/// Client libraries that others wrote, used as they come from PyPI.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(
        if: ClientLibraryFixture.isThere,
        "the Python packages or nginx are not here: deploy/packages --tests gets them from PyPI and Debian"))
struct ClientLibraryTests {
    @Test(
        "A client library discovers, exchanges, refreshes, signs assertions, introspects and revokes",
        arguments: ["authlib_client", "requests_oauthlib_client", "idpyoidc_client"])
    func isAClient(_ script: String) async throws { try await ClientLibraryFixture.shared.run(script) }

    @Test("Three JWT libraries verify the broker's tokens, and refuse them with another signature or audience")
    func tokensAreVerified() async throws { try await ClientLibraryFixture.shared.run("verify_tokens") }
}
