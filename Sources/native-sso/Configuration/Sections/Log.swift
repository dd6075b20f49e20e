import Logging

extension Configuration {
    /// `log`: what goes to standard error while serving.
    struct Log: Sendable, Hashable {
        enum Format: String, Sendable, CaseIterable {
            /// One JSON object a line.
            case json
            /// For people.
            case text
        }

        let level: Logger.Level
        /// `nil`: nothing was said, so that of whoever reads it.
        let format: Format?
    }
}

extension Configuration.Log {
    init?(reading section: Section, isDevelopment: Bool) {
        let levels = Logger.Level.allCases.filter { isDevelopment || $0 >= .info }
        let level = section.choice("level", default: Logger.Level.info, offering: levels)
        let format = section.value("format", Choice<Format>.parse)
        guard let level else { return nil }
        if level < .info, !isDevelopment {
            section.report("level", "\(level) is for development only; write info, notice, warning, error or critical")
        }
        self.init(level: level, format: format)
    }
}
