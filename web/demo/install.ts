import { installMock } from './browser';

installMock();
