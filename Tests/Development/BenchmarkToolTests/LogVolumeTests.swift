import Testing

@testable import native_sso_bench

struct LogVolumeTests {
    private static let statistics = """
        WAL statistics between 0/1000028 and 0/10001B8:
        Type                                           N      (%)          Record size      (%)             FPI size      (%)
        ----                                           -      ---          -----------      ---             --------      ---
        Heap                                           3 ( 50.00)                  189 ( 63.21)                16384 (100.00)
                                                --------                      --------                      --------
        Total                                          6                           299 [1.79%]               16384 [98.21%]              16683 [100%]

        """

    @Test func imagesAreToldFromTheRest() throws {
        let volume = try LogVolume(statistics: Self.statistics)
        #expect(volume.total == 16_683 && volume.pageImages == 16_384)
    }

    @Test(arguments: ["", "Total 1 2", "Total 6 299 [1%] many [98%] 16683"])
    func whatIsNotUnderstoodIsNotGuessed(_ text: String) {
        #expect(throws: LogVolume.Unreadable.self) { try LogVolume(statistics: text) }
    }
}
